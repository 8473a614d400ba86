/** `find_tools` and `use_tool` of a federated route with the official SDKs: what is decided and recorded is the real tool. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { connectV2, startLegacyMember, startModernMember, type MemberServer } from "../../support/federation.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { honestly, resultOf, startScriptedMembers, type Asked } from "../../support/scripted-members.ts";

let old: MemberServer;
let fresh: MemberServer;
let pipeline: Pipeline;

const configured = (above: string, more: { all?: string; old?: string } = {}): string => `
runtime_flags: { mcp: true }
routes:
  - name: all
    title: All tools
    version: 3.1.0
    from: http://localhost:${pipeline.port}
    prefix: /all
    mcp: { server: { members: { old: old, new: new }${above} } }
    policy: [{ allow: { and: [{ domain: example.com }] } }${more.all ?? ""}]
  - name: old
    from: http://localhost:${pipeline.port}
    prefix: /old
    to: ${old.origin}
    mcp: { server: {} }
    policy: [{ allow: { and: [{ domain: example.com }] } }${more.old ?? ""}]
  - name: new
    from: http://localhost:${pipeline.port}
    prefix: /new
    to: ${fresh.origin}
    mcp: { server: {} }
    policy: [{ allow: { and: [{ domain: example.com }] } }]
`;
const ON = ", search_tools_above: 5";

beforeAll(async () => {
  [old, fresh] = await Promise.all([startLegacyMember(), startModernMember()]);
});
afterAll(() => Promise.all([old.close(), fresh.close()]));
beforeEach(async () => {
  pipeline = await startPipeline("routes: []");
  pipeline.swap(configured(ON));
});
afterEach(() => pipeline.close());

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join(" ");
const namesIn = (result: unknown): readonly string[] =>
  [...textOf(result).matchAll(/"name":"([^"]+)"/g)].map(([, name = ""]) => name);
const find = (query: string) => ({ name: "find_tools", arguments: { query } });
const use = (name: string, args?: object) => ({
  name: "use_tool",
  arguments: { name, ...(args && { arguments: args }) },
});

test.each(["2025-11-25", "2026-07-28"] as const)(
  "a client of revision %s finds a tool and uses it",
  async (revision) => {
    const { client } = await connectV2(pipeline, revision);
    expect(client.getInstructions()).toContain("search with it");
    expect(client.getServerVersion()).toMatchObject({ name: "all", title: "All tools", version: "3.1.0" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["find_tools", "use_tool"]);
    const found = await client.callTool(find("echo"));
    expect(namesIn(found)).toEqual(["new__echo", "old__echo"]);
    expect(textOf(found)).toContain('"inputSchema":{');
    expect(textOf(await client.callTool(use("old__echo", { text: "a" })))).toBe("old a");
    expect(textOf(await client.callTool(use("new__echo", { text: "b" })))).toBe("new b");
    // Unlisted tools can be called as before.
    expect(textOf(await client.callTool({ name: "new__echo", arguments: { text: "c" } }))).toBe("new c");
    await expect(client.callTool(find(" "))).rejects.toThrow('"query" must be text');
    await expect(client.callTool(use("find_tools", { query: "echo" }))).rejects.toThrow();
    await expect(client.callTool({ name: "use_tool", arguments: {} })).rejects.toThrow();
    expect(textOf(await client.callTool(use("old__none")))).toContain("none not found");
    await client.close();
  },
);

test("finds what the caller can use only, and denies and records the real tool", async () => {
  pipeline.swap(
    configured(", search_tools_above: 1", {
      all: ", { deny: { or: [{ mcp_tool: new__echo }] } }",
      old: ", { deny: { and: [{ mcp_tool: secret }] } }",
    }),
  );
  const { client } = await connectV2(pipeline);
  expect(namesIn(await client.callTool(find("echo secret")))).toEqual(["old__echo"]);
  expect(textOf(await client.callTool(find("secret")))).toBe(
    "No tool matches. 6 tools were searched; try other words.",
  );
  const before = pipeline.records.length;
  for (const name of ["old__secret", "new__echo"])
    await expect(client.callTool(use(name))).rejects.toThrow("denied by policy");
  await client.callTool(use("old__echo", { text: "a" }));
  const told = pipeline.records
    .slice(before)
    .map((record) => [record["mcp-method"], record["mcp-tool"], record["allow"]]);
  expect(told).toContainEqual(["tools/call", "new__echo", false]);
  expect(told).toContainEqual(["tools/call", "secret", false]);
  expect(told).toContainEqual(["tools/call", "old__echo", true]);
  expect(told).toContainEqual(["tools/call", "echo", true]);
  expect(JSON.stringify(told)).not.toMatch(/use_tool/);
  await client.close();
});

test("the groups of tools reach the client in lists and found tools, with the tool's name at its member", async () => {
  const servers = await startScriptedMembers();
  const _meta = { "io.modelcontextprotocol/groups": ["numbers"] };
  servers.scripts.set("/groups", ({ message }) =>
    message.method === "tools/list"
      ? resultOf(message, { tools: [{ name: "sum", inputSchema: { type: "object" }, _meta }] })
      : honestly({ message } as Asked),
  );
  const withGroups = (above: string): string => `${configured(above).replace("new: new }", "new: new, g: g }")}
  - name: g
    from: http://localhost:${pipeline.port}
    prefix: /g
    to: ${servers.origin}
    mcp: { server: { path: /groups } }
    policy: [{ allow: { and: [{ domain: example.com }] } }]
`;
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    pipeline.swap(withGroups(""));
    const listing = await connectV2(pipeline, revision);
    const { tools } = await listing.client.listTools();
    expect(tools.find(({ name }) => name === "g__sum")?._meta).toEqual(_meta);
    await listing.client.close();
    pipeline.swap(withGroups(ON));
    const { client } = await connectV2(pipeline, revision);
    expect(textOf(await client.callTool(find("sum")))).toContain(JSON.stringify(_meta));
    await client.close();
  }
  servers.close();
});

test("without the setting, or below its bound, all tools are listed; without it the two names are unknown", async () => {
  for (const [above, isOn] of [
    [", search_tools_above: 8", true],
    ["", false],
  ] as const) {
    pipeline.swap(configured(above));
    const { client } = await connectV2(pipeline);
    expect((await client.listTools()).tools).toHaveLength(8);
    const called = client.callTool(use("old__echo", { text: "a" }));
    if (isOn) expect(textOf(await called)).toBe("old a");
    else await expect(called).rejects.toThrow("Unknown name: use_tool");
    await client.close();
  }
});
