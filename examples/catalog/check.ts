/** The catalog with the MCP reference servers: a line per step, then "N passed, N failed". */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { exportCatalog } from "../../runtime/tools/catalog/export.ts";
import { createBrowser } from "../../test/support/browser.ts";
import { startSignInGateway } from "../../test/support/sign-in-gateway.ts";
import { connectClient, type Browse } from "../demo/mcp-client.ts";
import { visit } from "../demo/person.ts";
import { createSteps } from "../demo/steps.ts";
import { findServers, startServers } from "./servers.ts";

const folder = findServers();
if (folder === undefined) {
  console.log("FAIL  The servers are missing. Run `npm install --prefix examples/catalog` first.");
  process.exit(1);
}
const CLIENT = "http://127.0.0.1:33418/callback";
const steps = createSteps();
const data = await mkdtemp(join(tmpdir(), "gateway-catalog-"));
const servers = await startServers(folder, data);
const written = await readFile(new URL("gateway.yaml", import.meta.url), "utf8");
// On loopback all routes are on one host, with a prefix each.
const yaml = written
  .replaceAll(/from: https:\/\/(\w+)\.example\.com/g, 'from: "{origin}"\n    prefix: /$1')
  .replace("http://files.internal", servers.files)
  .replace("http://memory.internal", servers.memory)
  .replace("http://everything.internal", servers.everything);
const world = await startSignInGateway({ yaml });
const { origin } = world.gateway;

const clientOf = (email: string): ReturnType<typeof connectClient> => {
  const browser = createBrowser();
  const browse: Browse = async (url) => new URL((await visit(browser, url.href, { user: email, stopAt: CLIENT })).url);
  return connectClient("v2", `${origin}/all`, browse);
};
const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/"name":"(\w+__\w+)"/g)].map(([, name = ""]) => name);

try {
  await steps.step("the registry lists the two public servers to everyone, without upstreams", async () => {
    const text = await (await fetch(`${origin}/.gateway/registry/v0.1/servers`)).text();
    const { servers: listed } = JSON.parse(text) as { servers: readonly { server: { title: string } }[] };
    steps.equal(listed.map(({ server }) => server.title).join(), "All tools,Shared files");
    steps.ok(!text.includes(new URL(servers.files).port), "an upstream is in the registry");
  });
  await steps.step("the portal shows Alice four servers with title, description and icon, and Bob three", async () => {
    for (const [email, count] of [
      ["alice@example.com", 4],
      ["bob@example.com", 3],
    ] as const) {
      const page = await visit(createBrowser(), `${origin}/.gateway/`, { user: email });
      steps.equal(page.text.match(/<li class="card app">/g)?.length, count, email);
      steps.match(page.text, /<img class="tile l" src="\/\.gateway\/icons\/[0-9a-f]{32}"/);
    }
  });
  await steps.step("Alice's client finds a tool of the memory, and uses it", async () => {
    const client = await clientOf("alice@example.com");
    steps.equal((await client.tools()).join(), "find_tools,use_tool");
    const found = namesIn(await client.call("find_tools", { query: "create entities in the knowledge graph" }));
    steps.equal(found[0], "memory__create_entities");
    const entities = [{ name: "Gateform", entityType: "product", observations: ["is a gateway"] }];
    await client.call("use_tool", { name: found[0], arguments: { entities } });
    const graph = await client.call("use_tool", { name: "memory__read_graph" });
    steps.match(graph, /is a gateway/);
    await client.close();
    return found.join(", ");
  });
  await steps.step("Bob finds neither the memory nor what writes files, and the real tool is denied", async () => {
    const client = await clientOf("bob@example.com");
    const found = namesIn(
      await client.call("find_tools", { query: "create entities, write file, read file", limit: 20 }),
    );
    steps.ok(found.includes("files__read_text_file"), found.join());
    steps.ok(!found.some((name) => /^memory__|__write_file$/.test(name)), found.join());
    const denied = await client.call("use_tool", { name: "files__write_file", arguments: {} }).catch(String);
    steps.match(denied, /denied by policy/);
    const read = { path: join(data, "documents/plan.txt") };
    steps.match(await client.call("use_tool", { name: "files__read_text_file", arguments: read }), /Ship on Friday/);
    await client.close();
    const records = await world.gateway.records();
    steps.ok(
      records.some((record) => record["mcp-tool"] === "write_file" && record["allow"] === false),
      "no record",
    );
    steps.ok(!records.some((record) => record["mcp-tool"] === "use_tool"), "use_tool was recorded");
    return denied;
  });
  await steps.step("the managed settings of Claude Code allow the four addresses only", async () => {
    const file = join(data, "gateway.yaml");
    await writeFile(
      file,
      `runtime_flags: { mcp: true }\nshared_secret: ${Buffer.alloc(32).toString("base64")}\n${written}`,
    );
    const text = await exportCatalog(file, "claude-code");
    const { allowedMcpServers } = JSON.parse(text) as { allowedMcpServers: readonly { serverUrl: string }[] };
    steps.equal(allowedMcpServers.length, 4);
    return allowedMcpServers.map(({ serverUrl }) => serverUrl).join(", ");
  });
} finally {
  await world.close();
  await servers.close();
  await rm(data, { recursive: true, force: true });
}
process.exitCode = steps.end();
