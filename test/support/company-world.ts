/**
 * Enterprise-managed authorization with the gateway on both sides: users sign in at the company's provider to the front
 * gateway, which gets ID-JAGs for them there and presents them to the back gateway, the authorization server of the upstream.
 *
 * No user signs in at the back gateway: it only trusts the company's assertions.
 */
import {
  type ExchangeAnswer,
  type ExchangeRequest,
  idJagAnswer,
  type TokenExchange,
} from "../../examples/demo/identity-provider-exchange.ts";
import type { IdentityProvider } from "../../examples/demo/identity-provider.ts";
import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { type Answer, type Browser, createSend } from "./browser.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { startGateway, type TestGateway } from "./gateway.ts";
import { createOAuthClient, type Registration, signInClient } from "./oauth-client.ts";
import { freePort } from "./ports.ts";
import { startSignInGateway, type SignInGateway } from "./sign-in-gateway.ts";

export interface CompanyWorld {
  readonly front: SignInGateway;
  readonly provider: IdentityProvider;
  readonly back: TestGateway;
  /** The front gateway's client at the back gateway. */
  readonly client: Registration;
  /** Resource identifier of the front gateway's server, which clients are given. */
  readonly resource: string;
  /** URL of the back gateway's server. */
  readonly upstream: string;
  /** ID tokens that were shown to be exchanged, oldest first. */
  readonly exchanges: ExchangeRequest[];
  /** Every ID-JAG that was given. */
  readonly idJags: string[];
  /** Sets the provider's policy; undefined: allows all. */
  decide(exchange?: TokenExchange): void;
  /** A new user: their token for the front gateway. */
  newcomer(): Promise<{
    readonly token: string;
    readonly id: string;
    readonly email: string;
    readonly browser: Browser;
  }>;
  /** One MCP request with an External Token of the front gateway. @param via port of its replica */
  call(token: string, via?: number): Promise<Answer>;
  /** Dynamic settings and routes of the front gateway. @param oauth more members of `upstream_oauth2` */
  frontYaml(oauth?: Readonly<Record<string, unknown>>): string;
  /** Expires the back gateway's tokens there, while the front gateway treats them as valid. A few times in a test. */
  endUpstreamTokens(): void;
  /** Puts the back gateway's trust into force, or takes it away. */
  trust(uses: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface CompanyOptions {
  /** Clock of the front gateway. */
  readonly clock?: TestClock;
  readonly boot?: Readonly<Record<string, unknown>>;
  readonly idTokenSeconds?: () => number;
  readonly port?: number;
  /** More dynamic settings of the front gateway. */
  readonly settings?: string;
}

const UPSTREAM_TOKEN_SECONDS = 60;

export async function startCompanyWorld(options: CompanyOptions = {}): Promise<CompanyWorld> {
  const send = createSend();
  const exchanges: ExchangeRequest[] = [];
  let arrived = 0;
  const idJags: string[] = [];
  let decision: TokenExchange | undefined;
  let client: Registration | undefined;
  const usual = async ({ sign }: ExchangeRequest): Promise<ExchangeAnswer> =>
    idJagAnswer(await sign({ client_id: client?.client_id ?? "" }));
  const exchange: TokenExchange = async (request) => {
    exchanges.push(request);
    const answer = await (decision ?? usual)(request);
    if (typeof answer.body === "object" && "access_token" in answer.body) idJags.push(String(answer.body.access_token));
    return answer;
  };

  const mcpServer: RunningMcpServer = await startMcpServer();
  const { idTokenSeconds } = options;
  const users = Array.from({ length: 40 }, (_, at) => ({
    id: `u-${at}`,
    email: `user-${at}@example.com`,
    name: `User ${at}`,
    groups: [],
  }));
  const front = await startSignInGateway({
    ...options,
    port: options.port ?? (await freePort()),
    provider: { exchange, users, ...(idTokenSeconds === undefined ? {} : { idTokenSeconds }) },
    yaml: "routes: []",
  });
  const provider = front.identityProvider;
  const backYaml = (uses: readonly string[]): string => `
runtime_flags: { mcp: true }
access_token_lifetime: ${UPSTREAM_TOKEN_SECONDS}s
${uses.length === 0 ? "" : `identity_issuers: { company: { issuer: "${provider.issuer}", uses: [${uses.join(", ")}] } }`}
authorize_log_fields: [user, client-id, issuer]
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [authenticated_user: true] } }
`;
  const backClock = createTestClock(Date.now());
  const back = await startGateway({ yaml: backYaml(["id_jag"]), clock: backClock });
  const upstream = `${back.origin}/tools/mcp`;
  client = await createOAuthClient({ resource: upstream }).register({
    token_endpoint_auth_method: "client_secret_basic",
  });
  const { client_id, client_secret } = client;
  const frontYaml: CompanyWorld["frontYaml"] = (oauth = { id_jag: {} }) => `
mcp_allowed_as_metadata_domains: [localhost]
${options.settings ?? ""}
routes:
  - name: tools
    from: "{origin}"
    prefix: /company
    to: ${back.origin}/tools
    mcp: { server: { path: /mcp, upstream_oauth2: ${JSON.stringify({ client_id, client_secret, ...oauth })} } }
    policy: { allow: { and: [authenticated_user: true] } }
`;
  await front.reconfigure(frontYaml());
  const resource = `${front.gateway.origin}/company/mcp`;
  return {
    front,
    provider,
    back,
    client,
    resource,
    upstream,
    exchanges,
    idJags,
    async newcomer() {
      const { id, email } = users[arrived] ?? { id: "", email: "" };
      arrived += 1;
      const { tokens, oauth } = await signInClient({ resource, user: email });
      return { token: tokens.access_token, id, email, browser: oauth.browser };
    },
    decide: (next) => void (decision = next),
    call: (token, via) =>
      (via === undefined ? send : createSend({ via }))({
        method: "POST",
        url: resource,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-11-25",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
    frontYaml,
    // Assertions last five minutes: the new ones are still valid.
    endUpstreamTokens: () => backClock.advance((UPSTREAM_TOKEN_SECONDS + 1) * 1000),
    trust: (uses) => back.reconfigure(backYaml(uses)),
    async close() {
      await front.close();
      await Promise.all([back.close(), mcpServer.close()]);
    },
  };
}
