/**
 * A small OpenID Connect provider with a few named users, for the demo and for tests. Loopback only, no passwords.
 *
 * Standards behaviour comes from oidc-provider; here are the users, the page to choose one, and the switches with which
 * tests make a provider do what providers do: disable people, change their groups, rotate tokens, go away.
 */
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { ClientMetadata, Configuration, KoaContextWithOIDC, Provider as OidcProvider } from "oidc-provider";

import { html } from "../../runtime/pages/html.ts";
import { page, pageHeaders } from "../../runtime/pages/layout.ts";
import { registerExchange, TOKEN_EXCHANGE, type TokenExchange } from "./identity-provider-exchange.ts";
import { createTokenStorage } from "./identity-provider-storage.ts";

export interface DemoUser {
  /** Stable id, the `sub`. */
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  /** Further claims, sent with the profile, or others instead of those above; their names are fixed when the provider starts. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

export const DEMO_USERS: readonly DemoUser[] = [
  { id: "u-alice", email: "alice@example.com", name: "Alice Example", groups: ["engineering", "admins"] },
  { id: "u-bob", email: "bob@example.com", name: "Bob Example", groups: ["sales"] },
  { id: "u-carol", email: "carol@other.example", name: "Carol Other", groups: [] },
];

/** Below a realm's address. */
const KEYCLOAK_PATH = "/protocol/openid-connect/auth";

export interface IdentityProviderOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  readonly users?: readonly DemoUser[];
  /** Applications that may send users here; those with `client_secret` use it. */
  readonly clients: readonly DemoClient[];
  /** Default true. */
  readonly issuesRefreshTokens?: boolean;
  /** Each refresh token works once, and a second use ends the whole family. Default false. */
  readonly rotateRefreshTokens?: boolean;
  /** Default 3600. */
  readonly accessTokenSeconds?: number;
  /** Default true; false leaves all but `sub` to the userinfo endpoint. */
  readonly claimsInIdToken?: boolean;
  /** Which scopes its metadata lists; default: with `offline_access`. `null` leaves the member out. */
  readonly scopesSupported?: readonly string[] | null;
  /** Name (`kid`) of its signing key, which is new at every start. Default "demo". */
  readonly keyId?: string;
  /** Resources for which clients may ask (RFC 8707); their access tokens are JWTs. Default: none, tokens are opaque. */
  readonly resources?: readonly string[];
  /** What clients get for a user's ID token (RFC 8693); absent: they cannot exchange any. */
  readonly exchange?: TokenExchange;
  /** Authorization requests must be pushed (RFC 9126). Default false. */
  readonly requiresPushedRequests?: boolean;
  /** Its addresses are those of Keycloak. Default false. */
  readonly isKeycloak?: boolean;
  /** False: an authorization with `offline_access` is refused, as for users without that role. Default true. */
  readonly grantsOffline?: boolean;
  /** Asked for each; default as `accessTokenSeconds`. */
  readonly idTokenSeconds?: () => number;
}

export interface DemoClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  /** Where it is told that somebody was signed out here (OpenID Connect Back-Channel Logout); ID tokens name the session then. */
  readonly backchannel_logout_uri?: string;
}

/** How often the provider was asked, by what was asked. */
export interface IdentityProviderCalls {
  discovery: number;
  authorization: number;
  /** Code exchanges that succeeded or failed. */
  code: number;
  /** Refreshes that succeeded or failed. */
  refresh: number;
  userinfo: number;
  revocation: number;
  endSession: number;
  /** Requests cut off while paused. */
  cut: number;
}

export interface IdentityProvider {
  /** "http://127.0.0.1:4000" */
  /** What was asked for at the authorization endpoint, in turn. */
  readonly asked: readonly { readonly scope: string; readonly prompt: string | null }[];
  readonly issuer: string;
  readonly users: readonly DemoUser[];
  readonly calls: IdentityProviderCalls;
  /** The user can neither sign in nor refresh any more. By id or email, like all of these. */
  disable(user: string): void;
  enable(user: string): void;
  /** Changes name, email, groups or claims; seen at the next sign-in or refresh. */
  update(user: string, changes: Partial<Omit<DemoUser, "id">>): void;
  /** The user's refresh tokens are worth nothing from now on. */
  revokeRefreshTokens(user: string): void;
  /** Further redirect addresses of a client, for gateways whose port is known only after this provider started. */
  allowRedirects(clientId: string, uris: readonly string[]): Promise<void>;
  /** Connections are cut until `resume()`, as if the provider were gone. */
  pause(): void;
  resume(): void;
  /** The userinfo endpoint answers 500, as if its database were gone. */
  failUserInfo(fails: boolean): void;
  /** Every answer takes so much longer. */
  delayAnswers(ms: number): void;
  /** Signs with a new key from now on, and publishes that alone; sessions, codes and refresh tokens stay. */
  rotateKeys(): void;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1 and answers at once. */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const users = new Map((options.users ?? DEMO_USERS).map((user) => [user.id, user]));
  const disabled = new Set<string>();
  const storage = createTokenStorage();
  const calls: IdentityProviderCalls = {
    discovery: 0,
    authorization: 0,
    code: 0,
    refresh: 0,
    userinfo: 0,
    revocation: 0,
    endSession: 0,
    cut: 0,
  };
  const asked: { scope: string; prompt: string | null }[] = [];
  const authorizationPath = options.isKeycloak === true ? KEYCLOAK_PATH : "/auth";
  let paused = false;
  let userInfoFails = false;
  let delayMs = 0;

  const findUser = (idOrEmail: string): DemoUser => {
    const user = users.get(idOrEmail) ?? [...users.values()].find((each) => each.email === idOrEmail);
    if (!user) throw new Error(`Cannot find demo user "${idOrEmail}"`);
    return user;
  };

  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const { Provider } = await importQuietly();
  const cookieKey = randomBytes(32).toString("base64url");
  const countGrant = (ctx: KoaContextWithOIDC): void => {
    if (ctx.oidc.params?.["grant_type"] === "refresh_token") calls.refresh += 1;
    else calls.code += 1;
  };
  const create = (keyId: string): OidcProvider => {
    const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const made = new Provider(issuer, {
      ...baseConfiguration(options, { key, keyId, cookieKey }),
      adapter: storage.adapter,
      // Access tokens for resources tell who their user is; nobody asks userinfo with them.
      extraTokenClaims: (_ctx, token) => {
        const user = "accountId" in token && token.resourceServer ? users.get(token.accountId) : undefined;
        return user && claimsOf(user);
      },
      findAccount: (_ctx: unknown, id: string) => {
        const user = users.get(id);
        return user && !disabled.has(id) ? { accountId: id, claims: () => claimsOf(user) } : undefined;
      },
    });
    if (options.exchange) registerExchange(made, { key, keyId }, options.exchange);
    const { scopesSupported } = options;
    if (scopesSupported !== undefined) {
      made.use(async (ctx, next) => {
        await next();
        if (ctx.path !== "/.well-known/openid-configuration") return;
        const { scopes_supported: _usual, ...metadata } = ctx.body as Record<string, unknown>;
        ctx.body = scopesSupported === null ? metadata : { ...metadata, scopes_supported: scopesSupported };
      });
    }
    made.on("grant.success", countGrant);
    made.on("grant.error", countGrant);
    return made;
  };
  const firstKeyId = options.keyId ?? "demo";
  let keysMade = 1;
  let provider = create(firstKeyId);

  const choose = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const details = await provider.interactionDetails(request, response);
    const [, , uid = "", chosen] = path.split("/");
    const hint = details.params["login_hint"];
    const wanted = chosen === undefined ? hint : decodeURIComponent(chosen);
    const user = [...users.values()].find(({ id, email }) => id === wanted || email === wanted);
    if (user && !disabled.has(user.id)) {
      // The consent is for clients that ask with `prompt=consent`; there is nothing to agree to here.
      await provider.interactionFinished(request, response, { login: { accountId: user.id }, consent: {} });
      return;
    }
    if (wanted === "nobody") {
      await provider.interactionFinished(request, response, { error: "access_denied" });
      return;
    }
    response.writeHead(200, pageResponseHeaders());
    response.end(
      choicePage(
        uid,
        [...users.values()].filter(({ id }) => !disabled.has(id)),
      ),
    );
  };

  let answer = provider.callback();
  server.on("request", (request, response) => {
    if (paused) {
      calls.cut += 1;
      request.socket.destroy();
      return;
    }
    const { pathname: path, searchParams: query } = new URL(request.url ?? "/", issuer);
    if (path === "/.well-known/openid-configuration") calls.discovery += 1;
    if (path === authorizationPath) {
      calls.authorization += 1;
      const scope = query.get("scope") ?? "";
      asked.push({ scope, prompt: query.get("prompt") });
      if (options.grantsOffline === false && scope.includes("offline_access")) {
        const back = new URL(query.get("redirect_uri") ?? issuer);
        back.search = new URLSearchParams({
          error: "invalid_scope",
          error_description: "Offline tokens not allowed for the user or client",
          state: query.get("state") ?? "",
          iss: issuer,
        }).toString();
        response.writeHead(302, { location: back.href }).end();
        return;
      }
    }
    if (path === "/me") calls.userinfo += 1;
    if (path === "/token/revocation") calls.revocation += 1;
    if (path === "/session/end") calls.endSession += 1;
    if (path === "/me" && userInfoFails) {
      response.writeHead(500).end();
      return;
    }
    const serve = (): void => {
      if (!path.startsWith("/choose/")) {
        void answer(request, response);
        return;
      }
      choose(request, response, path).catch(() => {
        response.writeHead(400, { "content-type": "text/plain" });
        response.end("This sign-in has ended. Go back and begin again.\n");
      });
    };
    if (delayMs > 0) setTimeout(serve, delayMs);
    else serve();
  });

  return {
    issuer,
    asked,
    get users() {
      return [...users.values()];
    },
    calls,
    disable: (user) => void disabled.add(findUser(user).id),
    enable: (user) => void disabled.delete(findUser(user).id),
    update(user, changes) {
      const known = findUser(user);
      users.set(known.id, { ...known, ...changes });
    },
    revokeRefreshTokens: (user) => storage.removeRefreshTokens(findUser(user).id),
    async allowRedirects(clientId, uris) {
      const client = await provider.Client.find(clientId);
      if (!client) throw new Error(`Cannot find client "${clientId}"`);
      Object.assign(client, { redirectUris: [...(client.redirectUris ?? []), ...uris] });
    },
    pause: () => void (paused = true),
    resume: () => void (paused = false),
    failUserInfo: (fails) => void (userInfoFails = fails),
    delayAnswers: (ms) => void (delayMs = ms),
    rotateKeys() {
      keysMade += 1;
      provider = create(`${firstKeyId}-${keysMade}`);
      answer = provider.callback();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The library greets every Node that is not a long-term release with a warning, which helps nobody who runs a demo. */
async function importQuietly(): Promise<typeof import("oidc-provider")> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await import("oidc-provider");
  } finally {
    console.warn = warn;
  }
}

interface ProviderKeys {
  readonly key: KeyObject;
  readonly keyId: string;
  readonly cookieKey: string;
}

function baseConfiguration(options: IdentityProviderOptions, { key, keyId, cookieKey }: ProviderKeys): Configuration {
  const lifetime = options.accessTokenSeconds ?? 3600;
  const further = (options.users ?? DEMO_USERS).flatMap(({ claims }) => Object.keys(claims ?? {}));
  return {
    clients: options.clients.map((client) => describeClient(client, options.exchange !== undefined)),
    // The only signing key is an EC key, and clients ask for RS256 unless told otherwise.
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    jwks: {
      keys: [{ ...key.export({ format: "jwk" }), kty: "EC", kid: keyId, use: "sig", alg: "ES256" }],
    },
    cookies: {
      // Own names: on localhost cookies are shared by all ports, and the gateway sets some too.
      names: { session: "demo_idp_session", interaction: "demo_idp_interaction", resume: "demo_idp_resume" },
      keys: [cookieKey],
    },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups", ...further] },
    conformIdTokenClaims: options.claimsInIdToken === false,
    ...(options.isKeycloak === true && { routes: { authorization: KEYCLOAK_PATH } }),
    interactions: { url: (_ctx, interaction) => `/choose/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      revocation: { enabled: true },
      pushedAuthorizationRequests: {
        enabled: true,
        requirePushedAuthorizationRequests: options.requiresPushedRequests ?? false,
      },
      resourceIndicators: {
        enabled: (options.resources ?? []).length > 0,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => {
          if (options.resources?.includes(resource) !== true) throw new Error(`Cannot find resource "${resource}"`);
          return { scope: "api", audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };
        },
      },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource, postLogoutSuccessSource },
    },
    // Without the library's guard against addresses of the own network: the applications to be told are on this machine.
    fetch: (url, { dispatcher: _guard, ...options } = {}) => fetch(url, options),
    // A refresh token for everybody, consent for everything: there is nothing to protect here.
    issueRefreshToken: () => Promise.resolve(options.issuesRefreshTokens ?? true),
    expiresWithSession: () => Promise.resolve(false),
    rotateRefreshToken: options.rotateRefreshTokens ?? false,
    loadExistingGrant,
    ttl: {
      AccessToken: lifetime,
      IdToken: options.idTokenSeconds ?? (() => lifetime),
      AuthorizationCode: 60,
      Grant: 30 * 86_400,
      Interaction: 3600,
      RefreshToken: 30 * 86_400,
      Session: 86_400,
    },
  };
}

function describeClient(client: DemoClient, exchanges: boolean): ClientMetadata {
  return {
    client_id: client.client_id,
    ...(client.client_secret === undefined
      ? { token_endpoint_auth_method: "none" }
      : { client_secret: client.client_secret, token_endpoint_auth_method: "client_secret_basic" }),
    redirect_uris: [...client.redirect_uris],
    post_logout_redirect_uris: [...(client.post_logout_redirect_uris ?? [])],
    ...(client.backchannel_logout_uri === undefined
      ? {}
      : { backchannel_logout_uri: client.backchannel_logout_uri, backchannel_logout_session_required: true }),
    grant_types: ["authorization_code", "refresh_token", ...(exchanges ? [TOKEN_EXCHANGE] : [])],
    response_types: ["code"],
    // As most providers do by themselves: when the person was last asked.
    require_auth_time: true,
  };
}

function claimsOf(user: DemoUser): { sub: string; [claim: string]: unknown } {
  const claims = { email: user.email, email_verified: true, name: user.name, groups: [...user.groups] };
  return { ...claims, ...user.claims, sub: user.id };
}

/** Grants what is asked for, without a consent page. */
async function loadExistingGrant(ctx: KoaContextWithOIDC) {
  const { client, session, params } = ctx.oidc;
  if (!client || session?.accountId === undefined) return undefined;
  const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  const scope = params?.["scope"];
  grant.addOIDCScope(typeof scope === "string" ? scope : "openid");
  const resource = params?.["resource"];
  if (typeof resource === "string") grant.addResourceScope(resource, "api");
  await grant.save();
  return grant;
}

function choicePage(uid: string, users: readonly DemoUser[]): string {
  const choice = page({
    title: "Who are you?",
    body: html`<p>This is a development identity provider: choose a user, there are no passwords.</p>
      <ul>
        ${users.map(
          (user) =>
            html`<li>
              <a href="/choose/${uid}/${encodeURIComponent(user.id)}">${user.email}</a>
              <span class="dim">${user.groups.length === 0 ? "no groups" : user.groups.join(", ")}</span>
            </li>`,
        )}
      </ul>
      <p><a class="button" href="/choose/${uid}/nobody">Cancel</a></p>`,
  });
  return choice();
}

async function logoutSource(ctx: KoaContextWithOIDC, form: string): Promise<void> {
  ctx.body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign out</title></head>
<body><h1>Sign out of the development identity provider too?</h1>${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button type="submit" form="op.logoutForm">Stay signed in</button></body></html>`;
}

async function postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
  ctx.body = page({
    title: "Signed out",
    body: html`<p>You are signed out of the development identity provider.</p>`,
  })();
}

function pageResponseHeaders(): string[] {
  return [...pageHeaders({ host: "" }), "content-type", "text/html; charset=utf-8"];
}
