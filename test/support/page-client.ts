/**
 * `node page-client.ts ADDRESS USER`: connects to the MCP server at the address as that user, by the SDK, and prints what
 * it may do there. Trusts what NODE_EXTRA_CA_CERTS names, as a reader's own client does.
 */
import { connectClient } from "../../examples/demo/mcp-client.ts";
import { visit } from "../../examples/demo/person.ts";
import { createBrowser } from "./browser.ts";

const [address = "", user = ""] = process.argv.slice(2);
const browser = createBrowser();
const client = await connectClient(
  "v2",
  address,
  async (url) => new URL((await visit(browser, url.href, { user, stopAt: "http://127.0.0.1:33418/" })).url),
);
const called = await client.call("list_repos");
const denied = await client.call("delete_repo", { repo: "website" }).then(
  () => "it was called",
  (error: unknown) => String(error),
);
console.log(JSON.stringify({ tools: await client.tools(), called, denied }));
await client.close();
