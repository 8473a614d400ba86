/**
 * A gateway for sign-in (sign-in-gateway.ts) with an upstream service that requires OAuth, in all three credential modes, and
 * clients for it: for the gateway's role as a client.
 */
import { DEMO_USERS, type DemoUser, type IdentityProvider } from "../../examples/demo/identity-provider.ts";
import { type Browser, createBrowser, createSend, findForm, findLink, type Page } from "./browser.ts";
import type { TestClock } from "./clock.ts";
import type { TestGateway } from "./gateway.ts";
import { type SignedInClient, signInClient, type SignInOptions } from "./oauth-client.ts";
import { freePort } from "./ports.ts";
import { startSignInGateway } from "./sign-in-gateway.ts";
import { startUpstreamService, type UpstreamService } from "./upstream-service.ts";

export const STATIC_SECRET = "static-client-secret-sentinel";

export interface UpstreamGateway {
  readonly gateway: TestGateway;
  readonly identityProvider: IdentityProvider;
  readonly service: UpstreamService;
  /** Listed URLs, by route name: static, found (credentials, discovery), auto, both (federated: static and found). */
  resource(route: string): string;
  /** A client route's address: where connect may send browsers back to. */
  readonly application: string;
  readonly callback: string;
  signIn(route: string, options?: Partial<SignInOptions>): Promise<SignedInClient>;
  /** A browser that is signed in on the gateway. */
  person(user?: string): Promise<Browser>;
  /** Goes to connect for one server, and wherever it leads. */
  connect(browser: Browser, route: string): Promise<Page>;
  /** The list of servers: name → connected. */
  list(browser: Browser): Promise<Readonly<Record<string, boolean>>>;
  /** One MCP request with this External Token. */
  call(route: string, token: string, method?: string, params?: object): Promise<CallAnswer>;
  yaml(changes?: (yaml: string) => string): string;
  close(): Promise<void>;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface UpstreamGatewayOptions {
  readonly clock?: TestClock;
  readonly boot?: Readonly<Record<string, unknown>>;
  /** More dynamic settings, as YAML lines. */
  readonly settings?: string;
  /** Changes the configuration's text. */
  readonly change?: (yaml: string) => string;
  readonly service?: UpstreamService;
  readonly port?: number;
  readonly users?: readonly DemoUser[];
}

export async function startUpstreamGateway(options: UpstreamGatewayOptions = {}): Promise<UpstreamGateway> {
  const port = options.port ?? (await freePort());
  const service = options.service ?? (await startUpstreamService());
  const origin = `http://localhost:${port}`;
  const callback = `${origin}/.gateway/mcp/client/oauth/callback`;
  service.clients.set("static-client", { secret: STATIC_SECRET, redirectUris: [callback] });
  service.secrets.add(STATIC_SECRET);
  const yaml = `
mcp_allowed_as_metadata_domains: ["127.0.0.1"]
${options.settings ?? ""}
routes:
  - name: static
    from: "{origin}"
    prefix: /static
    to: ${service.origin}
    mcp:
      server:
        path: /mcp
        upstream_oauth2:
          client_id: static-client
          client_secret: ${STATIC_SECRET}
          endpoint: { auth_url: "${service.origin}/authorize", token_url: "${service.origin}/token" }
          scopes: [read, write]
          authorization_url_params: { access_type: offline, prompt: consent }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: found
    from: "{origin}"
    prefix: /found
    to: ${service.origin}
    mcp:
      server:
        path: /mcp
        upstream_oauth2: { client_id: static-client, client_secret: ${STATIC_SECRET} }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: auto
    from: "{origin}"
    prefix: /auto
    to: ${service.origin}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: both
    from: "{origin}"
    prefix: /both/mcp
    mcp: { server: { members: { static: static, found: found }, search_tools_above: 0 } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: application
    from: "{origin}"
    prefix: /application
    to: ${service.origin}
    mcp: { client: {} }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`;
  const change = options.change ?? ((text: string) => text);
  const world = await startSignInGateway({
    port,
    provider: {
      users: [
        ...DEMO_USERS,
        { id: "u-dora", email: "dora@example.com", name: "Dora Example", groups: [] },
        ...(options.users ?? []),
      ],
    },
    ...(options.clock && { clock: options.clock }),
    ...(options.boot && { boot: options.boot }),
    yaml: change(yaml),
  });
  const { gateway, identityProvider } = world;
  const send = createSend();
  const application = `${origin}/application/`;
  const resource = (route: string): string => `${origin}/${route}/mcp`;
  const visit = async (browser: Browser, url: string, user: string): Promise<Page> => {
    let page = await browser.open(url, application);
    for (let step = 0; step < 6 && !page.left; step += 1) {
      const choice = findLink(page, user);
      const onward = findLink(page, "Continue");
      if (choice !== undefined) page = await browser.open(choice, application);
      else if (onward !== undefined) page = await browser.open(onward, application);
      else break;
    }
    return page;
  };

  return {
    gateway,
    identityProvider,
    service,
    resource,
    application,
    callback,
    signIn: (route, more = {}) => signInClient({ resource: resource(route), user: "alice@example.com", ...more }),
    async person(user = "alice@example.com") {
      const browser = createBrowser(send);
      await visit(browser, `${origin}/.gateway/`, user);
      return browser;
    },
    connect: (browser, route) =>
      visit(
        browser,
        `${origin}/.gateway/mcp/connect?redirect_url=${encodeURIComponent(application)}&resource=${encodeURIComponent(resource(route))}`,
        "alice@example.com",
      ),
    async list(browser) {
      const answer = await send({
        method: "GET",
        url: `${origin}/.gateway/mcp/routes`,
        headers: { accept: "application/json", cookie: browser.cookieHeader("localhost") },
      });
      if (answer.status !== 200) throw new Error(`Cannot list the servers: ${answer.status} ${answer.text}`);
      const { servers } = answer.json() as { servers: readonly { name: string; connected: boolean }[] };
      return Object.fromEntries(servers.map(({ name, connected }) => [name, connected]));
    },
    async call(route, token, method = "tools/list", params) {
      const answer = await send({
        method: "POST",
        url: resource(route),
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      return { status: answer.status, headers: answer.headers, text: answer.text };
    },
    yaml: (changes = (text) => text) => world.withProvider(changes(change(yaml))),
    async close() {
      await world.close();
      if (!options.service) await service.close();
    },
  };
}

export { findForm };
