/** One gateway with its console, one browser and three users, for all screens. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser } from "playwright-core";
import { expect } from "vitest";

import { startMcpServer, type RunningMcpServer } from "../../../examples/demo/mcp-server.ts";
import {
  findLookProblems,
  launchChromium,
  newVisitor,
  type Visitor,
  type VisitorOptions,
} from "../../support/chromium.ts";
import { type SignedInClient, signInClient } from "../../support/oauth-client.ts";
import { startSignInGateway, type SignInGateway } from "../../support/sign-in-gateway.ts";

/** Alice has every role everywhere, Bob can view team-a, Carol has no role. */
export type Person = "alice" | "bob" | "carol";

const EMAILS: Readonly<Record<Person, string>> = {
  alice: "alice@example.com",
  bob: "bob@example.com",
  carol: "carol@other.example",
};

export interface ConsoleWorld {
  readonly gateway: SignInGateway["gateway"];
  readonly identityProvider: SignInGateway["identityProvider"];
  readonly mcpServer: RunningMcpServer;
  /** "http://127.0.0.1:8080/.gateway/console" */
  readonly home: string;
  /** `storage_url` of the gateway. */
  readonly storageUrl: string;
  /** Address of the MCP server of this owner, as clients know it. */
  resource(owner: "team-a" | "team-b"): string;
  /** Signed in, with the page open. Close its context. */
  visit(person: Person, path: string, options?: VisitorOptions): Promise<Visitor>;
  /** An MCP client of this person at an owner's server. */
  client(person: Person, owner: "team-a" | "team-b"): Promise<SignedInClient>;
  /** Calls a tool there. @returns status of the answer */
  call(client: SignedInClient, owner: "team-a" | "team-b", tool: string, given?: object): Promise<number>;
  close(): Promise<void>;
}

const EVERYTHING = { allow: { and: [{ email: { is: EMAILS.alice } }] } };
const OF_TEAM_A = { allow: { and: [{ email: { is: EMAILS.bob } }] } };

export async function startConsoleWorld(): Promise<ConsoleWorld> {
  const directory = await mkdtemp(join(tmpdir(), "console-"));
  const storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  const mcpServer = await startMcpServer();
  const world = await startSignInGateway({
    pagesHost: "127.0.0.1",
    watchesDirectory: true,
    boot: {
      storage_url: storageUrl,
      record_store: {},
      console: {
        operator: EVERYTHING,
        approver: EVERYTHING,
        auditor: EVERYTHING,
        owners: { "team-a": { viewer: OF_TEAM_A } },
      },
    },
    yaml: "routes: []\n",
  });
  const { gateway } = world;
  for (const owner of ["team-a", "team-b"]) {
    await gateway.change(() =>
      writeFile(join(gateway.directory, `${owner}.yaml`), sliceOf(owner, gateway.origin, mcpServer.origin)),
    );
  }
  const home = `http://127.0.0.1:${gateway.port}/.gateway/console`;
  const browser: Browser = await launchChromium();
  const states = new Map<Person, Awaited<ReturnType<Visitor["context"]["storageState"]>>>();

  const visit = async (person: Person, path: string, options: VisitorOptions = {}): Promise<Visitor> => {
    const storageState = options.storageState ?? states.get(person);
    const visitor = await newVisitor(browser, { ...options, ...(storageState && { storageState }) });
    const { page, context } = visitor;
    const answer = await page.goto(home + path);
    // A test may have ended the session.
    if (answer?.status() === 401) await page.getByRole("link", { name: "Sign in" }).click();
    if (new URL(page.url()).origin !== new URL(home).origin) {
      await page.getByRole("link", { name: EMAILS[person] }).click();
      await page.waitForURL(`${new URL(home).origin}/**`);
      if (!options.storageState) states.set(person, await context.storageState());
    }
    return visitor;
  };
  const resource = (owner: string): string => `${gateway.origin}/${owner}/mcp`;
  let id = 0;

  return {
    gateway,
    identityProvider: world.identityProvider,
    mcpServer,
    home,
    storageUrl,
    resource,
    visit,
    client: (person, owner) => signInClient({ resource: resource(owner), user: EMAILS[person] }),
    async call(client, owner, tool, given = {}) {
      const answer = await fetch(resource(owner), {
        method: "POST",
        headers: {
          authorization: `Bearer ${client.tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: (id += 1),
          method: "tools/call",
          params: { name: tool, arguments: given },
        }),
      });
      await answer.text();
      return answer.status;
    },
    async close() {
      await browser.close();
      await world.close();
      await mcpServer.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export function sliceOf(owner: string, origin: string, upstream: string): string {
  return `
version: 1
owner: ${owner}
routes:
  tools:
    from: ${origin}
    prefix: /${owner}
    to: ${upstream}
    mcp: { server: { path: /mcp } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { starts_with: delete_ } }] }
  wiki:
    from: ${origin}
    prefix: /${owner}/wiki
    to: ${upstream}
    policy: { allow: { and: [{ groups: { has: engineering } }] } }
`;
}

/** As `findLookProblems` has it. Other screens are looked at in examples/console, which drives them as their users do. */
export async function expectGoodLook(visitor: Visitor, name: string): Promise<void> {
  expect(await findLookProblems(visitor, `console-${name}`)).toEqual([]);
}
