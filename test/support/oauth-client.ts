/**
 * A scripted MCP client as far as OAuth goes: finds the authorization server, registers, lets a person (the browser)
 * sign in and consent, exchanges the code, refreshes. Each step can be taken alone and bent.
 *
 *     const client = await signInClient({ resource: `${gateway.origin}/github/mcp`, user: "alice@example.com" });
 *     fetch(…, { headers: { authorization: `Bearer ${client.tokens.access_token}` } });
 */
import { createHash, randomBytes } from "node:crypto";

import {
  createBrowser,
  createSend,
  findForm,
  findLink,
  type Answer,
  type Browser,
  type Page,
  type Send,
} from "./browser.ts";

export interface ServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
  readonly revocation_endpoint: string;
  readonly introspection_endpoint: string;
  readonly [member: string]: unknown;
}

export interface Registration {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly redirect_uris: readonly string[];
  readonly [member: string]: unknown;
}

export interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope?: string;
}

/** Where an authorization ended: at the client (parameters) or on a page. */
export type AuthorizeOutcome =
  | { readonly at: "client"; readonly parameters: Readonly<Record<string, string>>; readonly url: string }
  | { readonly at: "page"; readonly page: Page };

export interface AuthorizeOptions {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  /** Replaces or adds query parameters; undefined leaves one out. */
  readonly parameters?: Readonly<Record<string, string | undefined>>;
  /** User to choose on the development provider's page, by the text of the link. */
  readonly user?: string;
  /** Decision on the consent page; "look" stops there. Default "approve". */
  readonly decision?: "approve" | "deny" | "look";
  /** Text of a link to press where there is one. */
  readonly press?: string;
}

export const REDIRECT_URI = "http://127.0.0.1:33418/callback";

export interface OAuthClientOptions {
  /** Address of the MCP server: the protected resource. */
  readonly resource: string;
  readonly send?: Send;
  readonly browser?: Browser;
}

export interface OAuthClient {
  readonly browser: Browser;
  readonly send: Send;
  /** Protected resource metadata, then authorization server metadata, as clients do. */
  discover(): Promise<ServerMetadata>;
  register(metadata?: Readonly<Record<string, unknown>>): Promise<Registration>;
  /** Raw answer of the registration endpoint. */
  sendRegistration(metadata: unknown): Promise<Answer>;
  authorize(options: AuthorizeOptions): Promise<AuthorizeOutcome>;
  /** Raw answer of the token endpoint. */
  sendToken(form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  sendRevocation(form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  sendIntrospection(
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

export function createOAuthClient(options: OAuthClientOptions): OAuthClient {
  const send = options.send ?? createSend();
  const browser = options.browser ?? createBrowser(send);
  let metadata: ServerMetadata | undefined;

  const discover = async (): Promise<ServerMetadata> => {
    if (metadata) return metadata;
    const resource = new URL(options.resource);
    const path = resource.pathname === "/" ? "" : resource.pathname;
    const described = await send({
      method: "GET",
      url: `${resource.origin}/.well-known/oauth-protected-resource${path}`,
    });
    if (described.status !== 200)
      throw new Error(`Cannot find the protected resource: ${described.status} ${described.text}`);
    const [issuer] = described.json()["authorization_servers"] as string[];
    const answer = await send({ method: "GET", url: `${issuer}/.well-known/oauth-authorization-server` });
    metadata = answer.json() as ServerMetadata;
    if (metadata.issuer !== issuer)
      throw new Error(`Cannot trust the metadata: issuer is ${metadata.issuer}, must be ${issuer}`);
    return metadata;
  };

  const sendForm = async (
    url: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    send({
      method: "POST",
      url,
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: new URLSearchParams(form).toString(),
    });

  const sendRegistration = async (body: unknown): Promise<Answer> =>
    send({
      method: "POST",
      url: (await discover()).registration_endpoint,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  return {
    browser,
    send,
    discover,
    sendRegistration,
    async register(extra = {}) {
      const answer = await sendRegistration({
        client_name: "Test client",
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        ...extra,
      });
      if (answer.status !== 201) throw new Error(`Cannot register: ${answer.status} ${answer.text}`);
      return answer.json() as Registration;
    },
    async authorize({ clientId, redirectUri, challenge, parameters = {}, user, decision = "approve", press }) {
      const url = new URL((await discover()).authorization_endpoint);
      const query: Readonly<Record<string, string | undefined>> = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: "S256",
        state: "state-of-the-test",
        resource: options.resource,
        ...parameters,
      };
      for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
      let page = await browser.open(url.href, redirectUri);
      for (let count = 0; count < 5 && !page.left; count += 1) {
        const link =
          (user === undefined ? undefined : findLink(page, user)) ??
          (press === undefined ? undefined : findLink(page, press));
        const form = findForm(page, "/.gateway/mcp/consent");
        if (link !== undefined) page = await browser.open(link, redirectUri);
        else if (form && decision !== "look") page = await browser.submit(page, form, { decision }, redirectUri);
        else break;
      }
      if (!page.left) return { at: "page", page };
      return { at: "client", url: page.url, parameters: Object.fromEntries(new URL(page.url).searchParams) };
    },
    sendToken: async (form, headers) => sendForm((await discover()).token_endpoint, form, headers),
    sendRevocation: async (form, headers) => sendForm((await discover()).revocation_endpoint, form, headers),
    sendIntrospection: async (form, headers) => sendForm((await discover()).introspection_endpoint, form, headers),
  };
}

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

export interface SignedInClient {
  readonly oauth: OAuthClient;
  readonly registration: Registration;
  /** The newest ones. */
  readonly tokens: Tokens;
  /** Exchanges the newest refresh token and stores the response. @throws Error when rejected */
  refresh(): Promise<Tokens>;
}

export interface SignInOptions extends OAuthClientOptions {
  readonly user?: string;
  /** An earlier registration to use again. */
  readonly registration?: Registration;
  /** Metadata for a new registration. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly parameters?: AuthorizeOptions["parameters"];
  readonly press?: string;
  /** Headers of token requests: proofs. */
  readonly tokenHeaders?: (url: string) => Promise<Readonly<Record<string, string>>>;
}

/** All steps: discover, register, sign in, consent, exchange. @throws Error when any step is rejected */
export async function signInClient(options: SignInOptions): Promise<SignedInClient> {
  const oauth = createOAuthClient(options);
  const registration = options.registration ?? (await oauth.register(options.metadata));
  const { verifier, challenge } = createPkce();
  const redirectUri = registration.redirect_uris[0] ?? REDIRECT_URI;
  const outcome = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri,
    challenge,
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(options.parameters === undefined ? {} : { parameters: options.parameters }),
    ...(options.press === undefined ? {} : { press: options.press }),
  });
  const code = outcome.at === "client" ? outcome.parameters["code"] : undefined;
  if (code === undefined)
    throw new Error(
      `Cannot sign in: ${outcome.at === "client" ? outcome.url : `${outcome.page.status} ${outcome.page.text}`}`,
    );

  const proof = clientProof(registration);
  const read = (answer: Answer): Tokens => {
    if (answer.status !== 200) throw new Error(`Cannot get tokens: ${answer.status} ${answer.text}`);
    return answer.json() as unknown as Tokens;
  };
  const headers = async (): Promise<Readonly<Record<string, string>> | undefined> =>
    options.tokenHeaders?.((await oauth.discover()).token_endpoint);
  let tokens = read(
    await oauth.sendToken(
      {
        grant_type: "authorization_code",
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        resource: options.resource,
        ...proof,
      },
      await headers(),
    ),
  );
  return {
    oauth,
    registration,
    get tokens() {
      return tokens;
    },
    async refresh() {
      tokens = read(
        await oauth.sendToken(
          { grant_type: "refresh_token", refresh_token: tokens.refresh_token ?? "", ...proof },
          await headers(),
        ),
      );
      return tokens;
    },
  };
}

/** How a registered client names and proves itself in a form. */
export function clientProof(registration: Registration): Readonly<Record<string, string>> {
  return {
    client_id: registration.client_id,
    ...(registration.client_secret === undefined ? {} : { client_secret: registration.client_secret }),
  };
}
