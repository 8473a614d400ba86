/** A realm of its own with users and the gateway's client, and a whole gateway whose users sign in there. */
import { createBrowser, findForm, type Browser, type Page } from "../../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { signInClient, type SignedInClient } from "../../support/oauth-client.ts";
import { freePort } from "../../support/ports.ts";
import { newestReason } from "../common/provider-world.ts";
import type { Keycloak } from "./keycloak.ts";

export const PASSWORD = "password-of-the-tests";
export const SECRET = "secret-of-the-gateway-at-keycloak";

export interface RealmOptions {
  readonly users?: readonly string[];
  /** More properties of the client. */
  readonly client?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly clientId?: string;
  /** How the gateway proves itself. */
  readonly proof?: string;
  /** More settings of the gateway. */
  readonly settings?: string;
  /** Criterion of the route /app. */
  readonly criterion?: string;
}

export interface KeycloakWorld {
  readonly gateway: TestGateway;
  readonly upstream: EchoUpstream;
  readonly issuer: string;
  /** The gateway's clock: real time plus an offset. */
  advance(ms: number): void;
  /** A request of the administrator below the realm. */
  admin<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  userId(name: string): Promise<string>;
  /** Id of the gateway's client. */
  readonly client: string;
  sessions(name: string): Promise<number>;
  offlineSessions(name: string): Promise<number>;
  /** Opens /app and signs in. */
  signIn(name: string, browser?: Browser): Promise<{ readonly browser: Browser; readonly page: Page }>;
  status(browser: Browser): Promise<number>;
  authorize(browser: Browser): Promise<SignedInClient>;
  ping(client: SignedInClient): Promise<number>;
  signOut(browser: Browser): Promise<Page>;
  reconfigure(change: (yaml: string) => string): Promise<void>;
  /** Reason in the newest log line with this message. */
  reasonOf(message: string): string | undefined;
  close(): Promise<void>;
}

let realms = 0;

export async function startWorld(keycloak: Keycloak, options: RealmOptions = {}): Promise<KeycloakWorld> {
  const { users = ["alice"], clientId = "gateway", proof = `idp_client_secret: ${SECRET}` } = options;
  const realm = `realm-${process.pid}-${(realms += 1)}`;
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const admin = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    keycloak.admin<T>(method, `/${realm}${path}`, body);

  await keycloak.admin("POST", "", { realm, enabled: true, sslRequired: "none", accessTokenLifespan: 300 });
  await admin("POST", "/clients", {
    clientId,
    secret: SECRET,
    publicClient: false,
    standardFlowEnabled: true,
    redirectUris: [`${origin}/.gateway/callback`],
    ...options.client,
    attributes: {
      "post.logout.redirect.uris": `${origin}/.gateway/signed_out`,
      "backchannel.logout.url": `${origin}/.gateway/backchannel_logout`,
      "backchannel.logout.session.required": "true",
      "backchannel.logout.revoke.offline.tokens": "false",
      ...options.attributes,
    },
  });
  const [client] = await admin<{ id: string }[]>("GET", `/clients?clientId=${clientId}`);
  const ids = new Map<string, string>();
  for (const username of users) {
    await admin("POST", "/users", {
      username,
      enabled: true,
      email: `${username}@example.com`,
      emailVerified: true,
      firstName: username,
      lastName: "Example",
      credentials: [{ type: "password", value: PASSWORD, temporary: false }],
    });
    const [user] = await admin<{ id: string }[]>("GET", `/users?exact=true&username=${username}`);
    ids.set(username, user?.id ?? "");
  }

  let ahead = 0;
  const upstream = await startEchoUpstream();
  const issuer = `${keycloak.origin}/realms/${realm}`;
  const { criterion = "authenticated_user: true" } = options;
  const yaml = `
runtime_flags: { mcp: true }
idp_provider_url: ${issuer}
idp_client_id: ${clientId}
${proof}
identity_issuers: { company: { issuer: "${issuer}", uses: [logout] } }
${options.settings ?? ""}
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", policy: [{ allow: { and: [${criterion}] } }] }
  - { name: tool, from: "{origin}", prefix: /tool, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, policy: [{ allow: { and: [authenticated_user: true] } }] }
`;
  const gateway = await startGateway({ port, clock: { now: () => Date.now() + ahead }, yaml });
  const count = async (path: string): Promise<number> => (await admin<unknown[]>("GET", path)).length;
  const userId = (name: string): Promise<string> => Promise.resolve(ids.get(name) ?? "");

  return {
    gateway,
    upstream,
    issuer,
    client: client?.id ?? "",
    admin,
    userId,
    advance: (ms) => void (ahead += ms),
    sessions: async (name) => count(`/users/${await userId(name)}/sessions`),
    offlineSessions: async (name) => count(`/users/${await userId(name)}/offline-sessions/${client?.id}`),
    async signIn(name, browser = createBrowser()) {
      const asked = await browser.open(`${origin}/app/`);
      const form = findForm(asked);
      if (!form) return { browser, page: asked };
      return { browser, page: await browser.submit(asked, form, { username: name, password: PASSWORD }) };
    },
    async status(browser) {
      const headers = { accept: "application/json", cookie: browser.cookieHeader("localhost") };
      return (await fetch(`${origin}/app/`, { headers, redirect: "manual" })).status;
    },
    authorize: (browser) => signInClient({ resource: `${origin}/tool/mcp`, browser }),
    async ping({ tokens }) {
      const answer = await fetch(`${origin}/tool/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
      return answer.status;
    },
    async signOut(browser) {
      const page = await browser.open(`${origin}/.gateway/sign_out`);
      const form = findForm(page, "/sign_out");
      if (!form) throw new Error(`No form to sign out: ${page.status} ${page.text}`);
      return browser.submit(page, form, {});
    },
    reconfigure: (change) => gateway.reconfigure(change(yaml)),
    reasonOf: (message) => newestReason(gateway.log(), message),
    async close() {
      await gateway.close();
      await upstream.close();
      await keycloak.admin("DELETE", `/${realm}`);
    },
  };
}
