/**
 * Every kind of credential that the gateway makes, presented at every door that takes one: a door opens for its own kinds
 * and for no other, whatever the place in the request it is put.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { createMcpSessions } from "../../runtime/mcp/mcp-sessions.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { createExternalTokens, EVERY_SERVER, programAudience } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { jobClaims, PLATFORM, signJob } from "../support/workload.ts";
import { IDP, idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { createBrowser, createSend, findForm, findLink, type Answer } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { logoutClaims, signLogout } from "../support/logout-tokens.ts";
import { clientProof, createPkce, REDIRECT_URI, signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";
import { userId } from "../support/users.ts";

const ALICE = "alice@example.com";
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});

let directory = "";
let world: SignInGateway;
let upstream: EchoUpstream;
/** Key of an accepted issuer. */
let company: SigningKey;
/** Upstream of a route whose users connect it with OAuth. */
let service: UpstreamService;
let origin = "";
let client: SignedInClient;
let kinds: Readonly<Record<string, string>> = {};
let doors: Readonly<Record<string, Door>> = {};
type Ask = (credential: string) => Promise<boolean>;
/** Returns true if a request with this credential passes at the route. */
let opensRoute: Ask = () => Promise.reject(new Error("not there yet"));
/** Returns true if introspection reports the credential as active to the route's account. */
let isActiveForRoute: Ask = () => Promise.reject(new Error("not there yet"));

interface Door {
  /** Kinds for which it opens. */
  readonly opensFor: readonly string[];
  readonly isOpen: (credential: string) => Promise<boolean>;
}

const DIRECTORY_TOKEN = "token-of-the-directory-corp";
const send = createSend();
const form = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();
const FORM = { "content-type": "application/x-www-form-urlencoded" };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-kinds-"));
  const storage = `sqlite:${join(directory, "gateway.db")}`;
  upstream = await startEchoUpstream();
  service = await startUpstreamService();
  company = await makeSigningKey("ES256", "company");
  const jwks = JSON.stringify({ keys: [company.jwk] });
  const endpoint = `{ auth_url: "${service.origin}/authorize", token_url: "${service.origin}/token" }`;
  world = await startSignInGateway({
    boot: { storage_url: storage },
    yaml: `
identity_issuers: { company: { issuer: "${IDP}", uses: [id_jag, logout], logout_audiences: [gateway], jwks: '${jwks}' }, platform: { issuer: "${PLATFORM}", uses: [workload], jwks: '${jwks}', workload_rules: { job: { claims: { repository_id: ["42"] }, resources: ["{origin}/github"] } } } }
directories: { corp: { provider: company, token: ${DIRECTORY_TOKEN}, groups: claims } }
routes:
  - { name: web, from: "{origin}", prefix: /web, to: "${upstream.origin}", policy: { allow: { and: [authenticated_user: true] } } }
  - { name: assistant, from: "{origin}", prefix: /assistant, to: "${upstream.origin}", mcp: { client: {} }, policy: { allow: { and: [authenticated_user: true] } } }
  - { name: github, from: "{origin}", prefix: /github, to: "${upstream.origin}", mcp: { server: { introspection_accounts: [auditor] } }, policy: { allow: { and: [authenticated_user: true] } } }
  - { name: notes, from: "{origin}", prefix: /notes, to: "${upstream.origin}", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
  - name: tracker
    from: "{origin}"
    prefix: /tracker
    to: "${service.origin}"
    mcp: { server: { path: /mcp, upstream_oauth2: { client_id: gateway, client_secret: upstream-secret, endpoint: ${endpoint} } } }
    policy: { allow: { and: [authenticated_user: true] } }
`,
  });
  ({ origin } = world.gateway);
  const redirectUris = [`${origin}/.gateway/mcp/client/oauth/callback`];
  service.clients.set("gateway", { secret: "upstream-secret", redirectUris });
  const store = await openRecords(storage, { clock: systemClock, log: silentLog() });
  try {
    await makeKinds(store);
  } finally {
    await store.close();
  }
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** One of each, all of Alice's, and the doors with everything else that they want. */
async function makeKinds(store: Awaited<ReturnType<typeof openRecords>>): Promise<void> {
  const keys = createKeys([Buffer.alloc(32)]);
  const resource = `${origin}/github`;
  const metadata = { token_endpoint_auth_method: "client_secret_post" };
  client = await signInClient({ resource, user: ALICE, metadata });
  const { oauth, registration } = client;

  // A connection that waits for the upstream's answer.
  const parameter = (url: string, name: string): string => new URL(url).searchParams.get(name) ?? "";
  const connectUrl = findLink(await oauth.browser.open(`${origin}/.gateway/`), "Connect tracker") ?? "";
  const connecting = await oauth.browser.open(connectUrl, `${service.origin}/authorize`);
  // Valid for the whole host, and therefore for all resources on it.
  const whole = await signInClient({ resource, user: ALICE, parameters: { resource: undefined } });
  const wide = await whole.oauth.sendToken({
    grant_type: "refresh_token",
    refresh_token: whole.tokens.refresh_token ?? "",
    ...clientProof(whole.registration),
  });

  const cookie = oauth.browser.cookieHeader("localhost");
  const visit = (path: string): Promise<Answer> => send({ method: "GET", url: origin + path, headers: { cookie } });
  const seenBy = (answer: Answer): Record<string, string> => answer.json()["headers"] as Record<string, string>;
  const atApplication = seenBy(await visit("/assistant/home"));

  const deps = { store, clock: systemClock };
  const account = await createServiceAccount(deps, { name: "ci", email: "ci@example.com", groups: [] });
  const machine = await createClient(deps, { name: "nightly", issuer: origin, machine: { email: "", groups: [] } });
  const auditor = await createClient(deps, { name: "auditor", issuer: origin, machine: { email: "", groups: [] } });
  if (!account.ok || !machine.ok || !auditor.ok) throw new Error("Cannot make the machines");
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const serviceToken = mintServiceAccountToken(
    createExternalTokens({ keys, clock: systemClock }),
    account,
    EVERY_SERVER,
    inAnHour,
  );

  const idJag = (clientId: string): Promise<string> =>
    signIdJag(idJagClaims(clientId, Date.now(), { aud: origin, resource }), company);
  const exchanged = await oauth.sendToken({
    grant_type: JWT_BEARER,
    assertion: await idJag(registration.client_id),
    ...clientProof(registration),
  });

  const [session] = await store.list("sessions");
  const programToken = createExternalTokens({ keys, clock: systemClock }).mint({
    kind: "programmatic",
    userId: userId("u-alice"),
    sessionId: session?.key.replace("session:", "") ?? "",
    audience: programAudience(origin),
    expiresAt: inAnHour,
  });
  const back = encodeURIComponent("http://localhost:1/back");
  const login = await visit(`/.gateway/api/v1/login?gateway_redirect_uri=${back}`);

  // A sign-in that is stopped at each of its steps.
  const beginner = createBrowser();
  const ticketUrl = (await beginner.open(`${origin}/web/x`, `${origin}/.gateway/sign_in`)).url;
  let page = await beginner.open(ticketUrl);
  const stop = `${origin}/.gateway/callback`;
  const callback = await beginner.open(findLink(page, ALICE) ?? "", stop);
  const second = createBrowser();
  page = await second.open(`${origin}/web/x`);
  const returning = await second.open(findLink(page, ALICE) ?? "", `${origin}/.gateway/return`);

  // An authorization that waits for the decision.
  const asked = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    parameters: { prompt: "consent" },
    decision: "look",
  });
  const revocationAddress = `${origin}/.gateway/global_token_revocation`;
  const statement = (claims: Readonly<Record<string, unknown>>, typ: string): Promise<string> =>
    signLogout(logoutClaims(IDP, Date.now(), { sub: "nobody", ...claims }), company, { typ });
  const consent = asked.at === "page" ? findForm(asked.page, "/.gateway/mcp/consent") : undefined;
  if (asked.at !== "page" || !consent) throw new Error("No consent page");
  const consentPage = asked.page;
  const userPage = await oauth.browser.open(`${origin}/.gateway/`);
  const formToken = (action: string): string => findForm(userPage, action)?.fields["csrf"] ?? "";

  const job = (): Promise<string> => signJob(jobClaims(Date.now(), { aud: origin }), company);
  const jobForm = form({ grant_type: JWT_BEARER, assertion: await job(), resource });
  const tokenUrl = `${origin}/.gateway/mcp/token`;
  const workload = await send({ method: "POST", url: tokenUrl, headers: FORM, body: jobForm });

  const { verifier, challenge } = createPkce();
  const approved = await oauth.authorize({ clientId: registration.client_id, redirectUri: REDIRECT_URI, challenge });
  const sessions = createMcpSessions({ keys });
  const binding = { userId: "u-alice", clientId: registration.client_id, route: "default/github" };

  kinds = {
    "access token": client.tokens.access_token,
    "access token of the host": String(wide.json()["access_token"]),
    "ID-JAG": await idJag(registration.client_id),
    "access token of an ID-JAG": String(exchanged.json()["access_token"]),
    "platform's token": await job(),
    "access token of a workload": String(workload.json()["access_token"]),
    "logout token": await statement({}, "logout+jwt"),
    "bearer of a global revocation": await statement({ aud: revocationAddress }, "global-token-revocation+jwt"),
    "token of a directory": DIRECTORY_TOKEN,
    "application token": (atApplication["authorization"] ?? "").replace(/^Bearer /, ""),
    "service account token": serviceToken,
    "programmatic token": programToken,
    "request of a programmatic login": parameter(login.text, "request"),
    "refresh token": client.tokens.refresh_token ?? "",
    "authorization code": approved.at === "client" ? (approved.parameters["code"] ?? "") : "",
    "client secret": registration.client_secret ?? "",
    "machine's secret": machine.secret ?? "",
    "client id": registration.client_id,
    "session cookie": /gateway_session=([^;]+)/.exec(cookie)?.[1] ?? "",
    "cookie of a sign-in": /_sign_in_[^=]+=([^;]+)/.exec(beginner.cookieHeader("localhost"))?.[1] ?? "",
    "cookie of a visit to the provider": /_provider_[^=]+=([^;]+)/.exec(beginner.cookieHeader("localhost"))?.[1] ?? "",
    "sign-in ticket": parameter(ticketUrl, "ticket"),
    "provider state": parameter(callback.url, "state"),
    "provider code": parameter(callback.url, "code"),
    "sign-in code": parameter(returning.url, "code"),
    "consent request": consent.fields["request"] ?? "",
    "consent form token": consent.fields["csrf_token"] ?? "",
    "sign-out form token": formToken("/.gateway/sign_out"),
    "portal form token": formToken("/.gateway/own"),
    "disconnect form token": formToken("/.gateway/mcp/disconnect"),
    "connect ticket": parameter(connectUrl, "ticket"),
    "upstream state": parameter(connecting.url, "state"),
    "upstream client secret": "upstream-secret",
    "Internal Token": [...service.accessTokens.keys()].at(-1) ?? "",
    "upstream refresh token": [...service.refreshTokens.keys()].at(-1) ?? "",
    "identity assertion": seenBy(await visit("/web/x"))["x-gateway-assertion"] ?? "",
    "MCP session id": sessions.seal("upstream-session", binding) ?? "",
    "admin token": world.gateway.adminToken,
  };
  for (const [kind, value] of Object.entries(kinds)) if (value === "") throw new Error(`There is no ${kind}`);

  const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
  const mcp = async (path: string, credential: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await send({
      method: "POST",
      url: origin + path,
      headers: {
        ...bearer(credential),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: INITIALIZE,
    });
    return answer.status === 200;
  };
  const get = async (path: string, headers: Readonly<Record<string, string>>): Promise<boolean> =>
    (await send({ method: "GET", url: origin + path, headers: { accept: "application/json", ...headers } })).status ===
    200;
  const asCookie = (credential: string) => ({ cookie: `gateway_session=${credential}` });
  const tokenRequest = async (values: Readonly<Record<string, string>>): Promise<boolean> => {
    const url = `${origin}/.gateway/mcp/token`;
    return (await send({ method: "POST", url, headers: FORM, body: form(values) })).status === 200;
  };
  /** One of the forms of the user page, which all lead back there. */
  const submit = async (path: string, values: Readonly<Record<string, string>>): Promise<boolean> => {
    const headers = { ...FORM, cookie, origin };
    return (await send({ method: "POST", url: origin + path, headers, body: form(values) })).status === 303;
  };
  const proof = clientProof(registration);
  const own = { authorization: bearer(client.tokens.access_token).authorization };

  const introspects = async (token: string, caller: Readonly<Record<string, string>>): Promise<boolean> => {
    const url = `${origin}/.gateway/mcp/introspect`;
    const answer = await send({ method: "POST", url, headers: FORM, body: form({ token, ...caller }) });
    // For an inactive token nothing else is returned.
    if (answer.status === 200 && answer.json()["active"] !== true) expect(answer.text).toBe('{"active":false}');
    return answer.status === 200 && answer.json()["active"] === true;
  };
  const ofAccount = { client_id: auditor.clientId, client_secret: auditor.secret ?? "" };
  opensRoute = (credential) => mcp("/github", credential);
  isActiveForRoute = (credential) => introspects(credential, ofAccount);

  doors = {
    "an MCP server route": {
      opensFor: [
        "access token",
        "access token of the host",
        "access token of an ID-JAG",
        "access token of a workload",
        "application token",
        "service account token",
      ],
      isOpen: (credential) => mcp("/github", credential),
    },
    "another MCP server route": {
      opensFor: ["access token of the host", "application token", "service account token"],
      isOpen: (credential) => mcp("/notes", credential),
    },
    "an MCP server route by cookie": {
      opensFor: [],
      isOpen: (credential) => mcp("/github", "", asCookie(credential)),
    },
    "an MCP server route with upstream OAuth": {
      opensFor: ["access token of the host", "application token"],
      isOpen: (credential) => mcp("/tracker/mcp", credential),
    },
    "an MCP session": {
      opensFor: ["MCP session id"],
      isOpen: (credential) => mcp("/github", client.tokens.access_token, { ...own, "mcp-session-id": credential }),
    },
    "an MCP session on another route": {
      opensFor: [],
      isOpen: (credential) => mcp("/notes", kinds["application token"] ?? "", { "mcp-session-id": credential }),
    },
    "the list of servers": {
      opensFor: ["application token"],
      isOpen: (credential) => get("/.gateway/mcp/routes", bearer(credential)),
    },
    "the list of servers by cookie": {
      opensFor: ["session cookie"],
      isOpen: (credential) => get("/.gateway/mcp/routes", asCookie(credential)),
    },
    "the list's disconnecting": {
      opensFor: ["application token"],
      isOpen: async (credential) => {
        const url = `${origin}/.gateway/mcp/routes/disconnect`;
        const headers = { ...bearer(credential), "content-type": "application/json" };
        const none = JSON.stringify({ routes: [`${origin}/none`] });
        return (await send({ method: "POST", url, headers, body: none })).status === 200;
      },
    },
    "the connect address": {
      opensFor: ["connect ticket"],
      isOpen: async (credential) => {
        const url = `${origin}/.gateway/mcp/connect?ticket=${encodeURIComponent(credential)}`;
        return (await oauth.browser.open(url, `${service.origin}/authorize`)).status < 400;
      },
    },
    "the upstream's callback": {
      opensFor: ["upstream state"],
      // The code is none, which the upstream says once the state was accepted.
      isOpen: async (credential) => {
        const query = new URLSearchParams({ state: credential, code: "none" }).toString();
        return (await oauth.browser.open(`${origin}/.gateway/mcp/client/oauth/callback?${query}`)).status === 502;
      },
    },
    "the portal's form": {
      opensFor: ["portal form token"],
      isOpen: (csrf) => submit("/.gateway/own", { csrf, kind: "session", id: "none" }),
    },
    "the disconnect form": {
      opensFor: ["disconnect form token"],
      isOpen: (csrf) => submit("/.gateway/mcp/disconnect", { csrf, route: "none" }),
    },
    "a web route by cookie": {
      opensFor: ["session cookie"],
      isOpen: (credential) => get("/web/x", asCookie(credential)),
    },
    // Machines call applications too; the policy there decides about them.
    "a web route by header": {
      opensFor: ["service account token", "programmatic token"],
      isOpen: (credential) => get("/web/x", bearer(credential)),
    },
    "a client route by header": { opensFor: [], isOpen: (credential) => get("/assistant/x", bearer(credential)) },
    "the page of a programmatic login": {
      opensFor: ["request of a programmatic login"],
      isOpen: (credential) =>
        get(`/.gateway/api/v1/approve?request=${encodeURIComponent(credential)}`, { cookie, accept: "text/html" }),
    },
    "who am I by cookie": {
      opensFor: ["session cookie"],
      isOpen: (credential) => get("/.gateway/user", asCookie(credential)),
    },
    "who am I by header": { opensFor: [], isOpen: (credential) => get("/.gateway/user", bearer(credential)) },
    "code exchange": {
      opensFor: ["authorization code"],
      isOpen: (code) =>
        tokenRequest({
          grant_type: "authorization_code",
          code,
          redirect_uri: REDIRECT_URI,
          code_verifier: verifier,
          ...proof,
        }),
    },
    refresh: {
      opensFor: ["refresh token"],
      isOpen: (credential) => tokenRequest({ grant_type: "refresh_token", refresh_token: credential, ...proof }),
    },
    "refresh by another client": {
      opensFor: [],
      isOpen: (credential) =>
        tokenRequest({ grant_type: "refresh_token", refresh_token: credential, ...clientProof(whole.registration) }),
    },
    "an exchange of ID-JAGs": {
      opensFor: ["ID-JAG"],
      isOpen: (assertion) => tokenRequest({ grant_type: JWT_BEARER, assertion, ...proof }),
    },
    "an exchange of ID-JAGs by another client": {
      opensFor: [],
      isOpen: (assertion) => tokenRequest({ grant_type: JWT_BEARER, assertion, ...clientProof(whole.registration) }),
    },
    "an exchange of ID-JAGs without a secret": {
      opensFor: [],
      isOpen: (assertion) => tokenRequest({ grant_type: JWT_BEARER, assertion, client_id: registration.client_id }),
    },
    "the exchange of a workload": {
      opensFor: ["platform's token"],
      isOpen: (assertion) => tokenRequest({ grant_type: JWT_BEARER, assertion, resource }),
    },
    "a client's proof": {
      opensFor: ["client secret"],
      isOpen: (credential) =>
        tokenRequest({
          grant_type: "refresh_token",
          refresh_token: client.tokens.refresh_token ?? "",
          client_id: registration.client_id,
          client_secret: credential,
        }),
    },
    "a client's assertion": {
      opensFor: [],
      isOpen: (credential) =>
        tokenRequest({
          grant_type: "refresh_token",
          refresh_token: client.tokens.refresh_token ?? "",
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: credential,
        }),
    },
    "client credentials": {
      opensFor: ["machine's secret"],
      isOpen: (credential) =>
        tokenRequest({ grant_type: "client_credentials", client_id: machine.clientId, client_secret: credential }),
    },
    "introspection by the client": {
      opensFor: ["access token", "access token of an ID-JAG", "refresh token"],
      isOpen: (credential) => introspects(credential, proof),
    },
    "introspection for a route": {
      opensFor: [
        "access token",
        "access token of the host",
        "access token of an ID-JAG",
        "access token of a workload",
        "application token",
        "service account token",
      ],
      isOpen: isActiveForRoute,
    },
    "introspection by another client": {
      opensFor: [],
      isOpen: (credential) =>
        introspects(credential, { client_id: machine.clientId, client_secret: machine.secret ?? "" }),
    },
    "introspection without a secret": {
      opensFor: [],
      isOpen: (credential) => introspects(credential, { client_id: registration.client_id }),
    },
    "a client's proof at introspection": {
      opensFor: ["client secret"],
      isOpen: (credential) =>
        introspects(client.tokens.access_token, { client_id: registration.client_id, client_secret: credential }),
    },
    "introspection by a token": {
      opensFor: [],
      isOpen: async (credential) => {
        const url = `${origin}/.gateway/mcp/introspect`;
        const headers = { ...FORM, ...bearer(credential) };
        const body = form({ token: client.tokens.access_token });
        return (await send({ method: "POST", url, headers, body })).status === 200;
      },
    },
    "the consent page": {
      opensFor: ["consent request"],
      isOpen: async (credential) =>
        (await oauth.browser.open(`${origin}/.gateway/mcp/consent?request=${encodeURIComponent(credential)}`))
          .status === 200,
    },
    "the sign-out form": {
      opensFor: ["sign-out form token"],
      isOpen: async (credential) => {
        // A session of its own, since it ends.
        if (credential !== kinds["sign-out form token"]) return (await signOutWith(cookie, credential)) === 200;
        const leaving = createBrowser();
        const start = await leaving.open(`${origin}/.gateway/`);
        const there = await leaving.open(findLink(start, ALICE) ?? "");
        const token = findForm(there, "/.gateway/sign_out")?.fields["csrf"] ?? "";
        return (await signOutWith(leaving.cookieHeader("localhost"), token)) === 200;
      },
    },
    "the provider's callback": {
      opensFor: ["provider state"],
      isOpen: async (credential) => {
        const url = new URL(callback.url);
        url.searchParams.set("state", credential);
        return (await beginner.open(url.href, `${origin}/.gateway/return`)).left;
      },
    },
    "the way back from the sign-in": {
      opensFor: ["sign-in code"],
      isOpen: async (credential) => {
        const to = encodeURIComponent(parameter(returning.url, "to"));
        const url = `${origin}/.gateway/return?code=${encodeURIComponent(credential)}&to=${to}`;
        // The response's cookies are discarded: after an invalid code the sign-in starts again, with cookies of its own.
        const answer = await send({ method: "GET", url, headers: { cookie: second.cookieHeader("localhost") } });
        return answer.headers["location"]?.endsWith("/web/x") === true;
      },
    },
    "the sign-in": {
      opensFor: ["sign-in ticket"],
      isOpen: async (credential) => {
        const answer = await createBrowser().open(
          `${origin}/.gateway/sign_in?ticket=${encodeURIComponent(credential)}`,
        );
        return answer.status === 200;
      },
    },
    "back-channel logout": {
      opensFor: ["logout token"],
      isOpen: async (credential) => {
        const url = `${origin}/.gateway/backchannel_logout`;
        const body = form({ logout_token: credential });
        return (await send({ method: "POST", url, headers: FORM, body })).status === 200;
      },
    },
    "global token revocation": {
      opensFor: ["bearer of a global revocation"],
      isOpen: async (credential) => {
        const headers = { "content-type": "application/json", ...bearer(credential) };
        const body = JSON.stringify({ sub_id: { format: "iss_sub", iss: IDP, sub: "nobody" } });
        // For an unknown user.
        return (await send({ method: "POST", url: revocationAddress, headers, body })).status === 404;
      },
    },
    "a directory": {
      opensFor: ["token of a directory"],
      isOpen: async (credential) => {
        const url = `${origin}/.gateway/scim/v2/corp/Users?count=0`;
        return (await send({ method: "GET", url, headers: bearer(credential) })).status === 200;
      },
    },
    "the admin listener": {
      opensFor: ["admin token"],
      isOpen: async (credential) => {
        const url = `${world.gateway.adminOrigin}/status`;
        return (await send({ method: "GET", url, headers: bearer(credential) })).status === 200;
      },
    },
    // Last: it approves.
    "the consent form": {
      opensFor: ["consent form token"],
      isOpen: async (credential) => {
        const fields = { ...consent.fields, csrf_token: credential };
        const answer = await oauth.browser.submit(
          consentPage,
          { ...consent, fields },
          { decision: "approve" },
          REDIRECT_URI,
        );
        return answer.left;
      },
    },
  };
}

async function signOutWith(cookie: string, csrf: string): Promise<number> {
  const url = `${origin}/.gateway/sign_out`;
  const answer = await send({ method: "POST", url, headers: { ...FORM, cookie, origin }, body: form({ csrf }) });
  return answer.status;
}

const DOORS = [
  "an MCP server route",
  "another MCP server route",
  "an MCP server route by cookie",
  "an MCP server route with upstream OAuth",
  "an MCP session",
  "an MCP session on another route",
  "the list of servers",
  "the list of servers by cookie",
  "the list's disconnecting",
  "the connect address",
  "the upstream's callback",
  "the portal's form",
  "the disconnect form",
  "a web route by cookie",
  "a web route by header",
  "a client route by header",
  "the page of a programmatic login",
  "who am I by cookie",
  "who am I by header",
  "code exchange",
  "refresh",
  "refresh by another client",
  "an exchange of ID-JAGs",
  "an exchange of ID-JAGs by another client",
  "an exchange of ID-JAGs without a secret",
  "the exchange of a workload",
  "a client's proof",
  "a client's assertion",
  "client credentials",
  "introspection by the client",
  "introspection for a route",
  "introspection by another client",
  "introspection without a secret",
  "a client's proof at introspection",
  "introspection by a token",
  "the consent page",
  "the sign-out form",
  "the provider's callback",
  "the way back from the sign-in",
  "the sign-in",
  "back-channel logout",
  "global token revocation",
  "a directory",
  "the admin listener",
  "the consent form",
];

describe("every kind of credential at every endpoint: only its own passes", () => {
  test("the table names every door", () => {
    expect(Object.keys(doors)).toEqual(DOORS);
  });

  test.each(DOORS)("%s", async (name) => {
    const door = doors[name];
    if (!door) throw new Error(`There is no door ${name}`);
    const wrong = Object.keys(kinds).filter((kind) => !door.opensFor.includes(kind));
    const opened: string[] = [];
    for (const kind of wrong) if (await door.isOpen(kinds[kind] ?? "")) opened.push(kind);
    expect(opened).toEqual([]);
    // Its own kinds afterwards: earlier attempts must have consumed nothing.
    for (const kind of door.opensFor) expect([kind, await door.isOpen(kinds[kind] ?? "")]).toEqual([kind, true]);
  });

  test("introspection and the route agree about every kind", async () => {
    const atRoute: string[] = [];
    const atIntrospection: string[] = [];
    for (const [kind, credential] of Object.entries(kinds)) {
      if (await opensRoute(credential)) atRoute.push(kind);
      if (await isActiveForRoute(credential)) atIntrospection.push(kind);
    }
    expect(atIntrospection).toEqual(atRoute);
    expect(atRoute).not.toHaveLength(0);
  });

  test("introspection logs no kind of token, wherever it is in the request", async () => {
    const url = `${origin}/.gateway/mcp/introspect`;
    const { client_id = "" } = clientProof(client.registration);
    for (const credential of Object.values(kinds)) {
      const query = form({ token: credential });
      await send({ method: "POST", url: `${url}?${query}`, headers: FORM, body: form({ client_id }) });
      await send({ method: "GET", url: `${url}?${query}` });
      const headers = { ...FORM, authorization: `Basic ${Buffer.from(`${client_id}:x`).toString("base64")}` };
      await send({ method: "POST", url, headers, body: query });
    }
    const log = world.gateway.log() + (await world.gateway.recordText());
    expect(log).toContain("introspection rejected");
    // Public by nature.
    const isPublic = (kind: string): boolean => kind === "client id";
    const written = Object.keys(kinds).filter((kind) => !isPublic(kind) && log.includes(kinds[kind] ?? ""));
    expect(written).toEqual([]);
  });

  test("the revocation endpoint revokes a client's grant for its own tokens only", async () => {
    const proof = clientProof(client.registration);
    const fresh = await client.refresh();
    // The grant of an ID-JAG is a different one.
    const ends = ["access token", "refresh token"];
    for (const kind of Object.keys(kinds).filter((each) => !ends.includes(each))) {
      const answer = await client.oauth.sendRevocation({ token: kinds[kind] ?? "", ...proof });
      expect([kind, answer.status]).toEqual([kind, 200]);
    }
    await expect(client.refresh()).resolves.toBeDefined();
    expect((await client.oauth.sendRevocation({ token: fresh.access_token, ...proof })).status).toBe(200);
    await expect(client.refresh()).rejects.toThrow("invalid_grant");
    const ended = [await opensRoute(fresh.access_token), await isActiveForRoute(fresh.access_token)];
    expect(ended).toEqual([false, false]);
  });
});
