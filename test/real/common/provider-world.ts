/** A gateway whose users sign in at a small real provider, which knows it as "gateway" and another application as "wiki". */
import { type Browser, createBrowser, findForm, type Page } from "../../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { createPkce } from "../../support/oauth-client.ts";
import { freePort } from "../../support/ports.ts";
import type { RealProcess } from "./process.ts";

export const PASSWORD = "password-of-the-tests";
export const SECRET = "secret-of-the-tests";
/** Redirect URI of the other application; nothing listens there. */
export const WIKI = "http://127.0.0.1:9/wiki";

export interface ProviderWorld {
  readonly gateway: TestGateway;
  readonly provider: RealProcess;
  /** Opens /app and fills in one form after the other. */
  signIn(
    ...forms: readonly Readonly<Record<string, string>>[]
  ): Promise<{ readonly browser: Browser; readonly page: Page }>;
  /** The status of /app once a refresh is due, or after this time. */
  later(browser: Browser, ms?: number): Promise<number>;
  signOut(browser: Browser): Promise<Page>;
  /** Whether the other application gets a code without a question. */
  wikiKnows(browser: Browser): Promise<boolean>;
  /** Reason in the newest log line with this message. */
  reasonOf(message: string): string | undefined;
  close(): Promise<void>;
}

export interface StartedProvider {
  readonly issuer: string;
  readonly process: RealProcess;
}

export interface ProviderWorldOptions {
  /** How the gateway proves itself. */
  readonly proof?: string;
  /** More settings of the gateway; `{issuer}` is the provider's. */
  readonly settings?: string;
}

/** A due refresh is waited for. */
const OVERDUE_MS = 20 * 60_000;

/** @param start of the provider, for a gateway at this origin */
export async function startProviderWorld(
  start: (origin: string) => Promise<StartedProvider>,
  { proof = `idp_client_secret: ${SECRET}`, settings = "" }: ProviderWorldOptions = {},
): Promise<ProviderWorld> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const { issuer, process: provider } = await start(origin);
  const upstream: EchoUpstream = await startEchoUpstream();
  let ahead = 0;
  const allow = "policy: [{ allow: { and: [authenticated_user: true] } }]";
  const gateway = await startGateway({
    port,
    clock: { now: () => Date.now() + ahead },
    yaml: `
runtime_flags: { mcp: true }
idp_provider_url: ${issuer}
idp_client_id: gateway
${proof}
${settings.replaceAll("{issuer}", issuer)}
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", ${allow} }
  - { name: tool, from: "{origin}", prefix: /tool, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, ${allow} }
`,
  });
  const formOf = (page: Page, ending?: string) => {
    const form = findForm(page, ending);
    if (!form) throw new Error(`No form at ${page.url}: ${page.status} ${page.text}`);
    return form;
  };
  return {
    gateway,
    provider,
    async signIn(...forms) {
      const browser = createBrowser();
      let page = await browser.open(`${origin}/app/`);
      for (const values of forms) page = await browser.submit(page, { ...formOf(page), method: "POST" }, values);
      return { browser, page };
    },
    async later(browser, ms = OVERDUE_MS) {
      ahead += ms;
      const headers = { accept: "application/json", cookie: browser.cookieHeader("localhost") };
      return (await fetch(`${origin}/app/`, { headers })).status;
    },
    async signOut(browser) {
      const page = await browser.open(`${origin}/.gateway/sign_out`);
      return browser.submit(page, formOf(page, "/sign_out"), {});
    },
    async wikiKnows(browser) {
      const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
      const { authorization_endpoint: endpoint } = (await answer.json()) as { authorization_endpoint: string };
      const query = new URLSearchParams({
        client_id: "wiki",
        redirect_uri: WIKI,
        response_type: "code",
        scope: "openid",
        state: "state-of-the-test",
        nonce: "nonce-of-the-test",
        code_challenge: createPkce().challenge,
        code_challenge_method: "S256",
      });
      const page = await browser.open(`${endpoint}?${query.toString()}`, WIKI);
      return page.left && new URL(page.url).searchParams.has("code");
    },
    reasonOf: (message) => newestReason(gateway.log(), message),
    async close() {
      await gateway.close();
      await upstream.close();
      await provider.close();
    },
  };
}

/** `reason` of the log's newest line with this message. */
export function newestReason(log: string, message: string): string | undefined {
  return log
    .split("\n")
    .filter((line) => line.includes(`"${message}"`))
    .map((line) => (JSON.parse(line) as { reason?: string }).reason)
    .at(-1);
}
