/** A gateway in front of the MCP server of one language, and the address that the tool `pay` asks. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { createBrowser, findForm, findLink } from "../../support/browser.ts";
import { type SignInGateway, startSignInGateway } from "../../support/sign-in-gateway.ts";

/** Nothing listens there: the test hands the address to the client. */
export const REDIRECT = "http://localhost:43117/callback";

export interface SdkWorld {
  readonly gateway: SignInGateway["gateway"];
  /** Address of the server at the gateway. */
  readonly resource: string;
  readonly bank: Bank;
  /** Opens an address in a browser of its own, as a user who signs in and allows everything. */
  user(): (url: string) => Promise<string>;
  /** How many calls of a tool the gateway has decided about. */
  decided(tool: string): Promise<number>;
  /** How many streams of GET it has let through. */
  streams(): Promise<number>;
  close(): Promise<void>;
}

/** A server with effects: it counts payments, and responds to each only when the test says so. */
export interface Bank {
  /** Address of a payment with this name. */
  url(name: string): string;
  paid(name: string): number;
  /** Waits for a payment request of this name, and responds to it. */
  respond(name: string): Promise<void>;
  /** Waits for a payment request of this name. */
  asked(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param server address of the MCP server's endpoint
 * @param route more of its route
 */
export async function startSdkWorld(server: string, settings = "", route = ""): Promise<SdkWorld> {
  const bank = await startBank();
  const { origin, pathname } = new URL(server);
  const world = await startSignInGateway({
    yaml: `
authorize_log_fields: [request-id, method, mcp-tool]
${settings}
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${origin}
    ${route}
    mcp: { server: { path: ${pathname}, tool_scopes: { scoped: [extra] } } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { is: forbidden } }] }
`,
  });
  return {
    gateway: world.gateway,
    resource: `${world.gateway.origin}/tools/mcp`,
    bank,
    user() {
      const browser = createBrowser();
      return async (url) => {
        let page = await browser.open(url, REDIRECT);
        const link = findLink(page, "alice@example.com");
        if (link !== undefined) page = await browser.open(link, REDIRECT);
        const form = findForm(page, "/.gateway/mcp/consent");
        if (form) page = await browser.submit(page, form, { decision: "approve" }, REDIRECT);
        if (!page.left) throw new Error(`Cannot sign in: ${page.status} ${page.text}`);
        return page.url;
      };
    },
    async decided(tool) {
      return (await world.gateway.records()).filter((record) => record["mcp-tool"] === tool).length;
    },
    async streams() {
      const records = await world.gateway.records();
      return records.filter((record) => record["method"] === "GET" && record["allow"] === true).length;
    },
    async close() {
      await world.close();
      await bank.close();
    },
  };
}

async function startBank(): Promise<Bank> {
  const paid = new Map<string, number>();
  const waiting = new Map<string, ServerResponse>();
  const asking = new Set<() => void>();
  const server = createServer((request, response) => {
    const name = request.url ?? "";
    paid.set(name, (paid.get(name) ?? 0) + 1);
    waiting.set(name, response);
    for (const look of Array.from(asking)) look();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const asked = (name: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!waiting.has(`/${name}`)) return;
        asking.delete(look);
        resolve();
      };
      asking.add(look);
      look();
    });
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    paid: (name) => paid.get(`/${name}`) ?? 0,
    asked,
    async respond(name) {
      await asked(name);
      waiting.get(`/${name}`)?.end(`paid ${name}`);
      waiting.delete(`/${name}`);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
