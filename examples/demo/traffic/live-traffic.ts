/** What invented users and teams do while the gateway runs: publish a change, list tools, and leave a call waiting for approval. */
import { createBrowser } from "../../../test/support/browser.ts";
import { connectClient, type ConnectedClient, createLogin } from "../mcp-client.ts";
import { visit } from "../person.ts";

export interface LiveOptions {
  /** What users visit, "http://localhost:8080". */
  readonly origin: string;
  readonly adminOrigin: string;
  /** Versions of the slice, oldest first. */
  readonly versions: readonly object[];
  readonly adminToken: string;
}

/** One call above the amount that needs an approval, below the one that is denied. */
const WAITING = { order: 1421, amount: 450 };

/** Which user's client lists the tools of which servers. */
const VISITS = [
  { email: "bob.okafor@example.com", client: "Claude Code", servers: ["desk", "salesforce"] },
  { email: "grace.lin@example.com", client: "VS Code", servers: ["github", "notes"] },
  { email: "ines.marques@example.com", client: "Weekly report", servers: ["warehouse"] },
] as const;

export async function addLiveTraffic({ origin, adminOrigin, versions, adminToken }: LiveOptions): Promise<void> {
  for (const [index, version] of versions.entries()) {
    const expected = index === 0 ? { "if-none-match": "*" } : { "if-match": "*" };
    await publish(`${adminOrigin}/config/slices/payments`, version, {
      ...expected,
      authorization: `Bearer ${adminToken}`,
    });
  }
  for (const { email, client, servers } of VISITS) {
    const browser = createBrowser();
    for (const server of servers) {
      const browse = async (authorizeUrl: URL): Promise<URL> => {
        const page = await visit(browser, authorizeUrl.href, { user: email, stopAt: "http://127.0.0.1:33418/" });
        return new URL(page.url);
      };
      const connected = await connectClient("v2", `${origin}/${server}/mcp`, browse, createLogin(client));
      await connected.tools();
      if (server === "desk") await callRefund(connected);
      await connected.close();
    }
  }
}

async function callRefund(client: ConnectedClient): Promise<void> {
  const isWaiting = await client.call("refund", WAITING).then(
    () => false,
    () => true,
  );
  if (!isWaiting) throw new Error("Cannot add traffic: the refund needed no approval");
}

async function publish(url: string, slice: object, headers: Record<string, string>): Promise<void> {
  const answer = await fetch(url, {
    method: "PUT",
    headers: {
      ...headers,
      "content-type": "application/json",
      "user-agent": "payments-pipeline",
    },
    body: JSON.stringify(slice),
  });
  if (!answer.ok) throw new Error(`Cannot add traffic: publishing got ${answer.status}: ${await answer.text()}`);
}
