/** Skills (`io.modelcontextprotocol/skills`) on their way through an MCP server route: policy and lock. */
import type { Socket } from "node:net";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { toolDigest } from "../../../runtime/features/mcp/tool-lock-file.ts";
import { parseExactJson } from "../../../runtime/shared/json/exact-json.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { sendRaw } from "../../support/raw-client.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "../../support/scripted-upstream.ts";

const REFUNDS = entry("skill://acme/refunds/SKILL.md", ["skill://acme/refunds/SKILL.md", "skill://acme/refunds/a.md"]);
const CHANGED = entry("skill://acme/refunds/SKILL.md", ["skill://acme/refunds/SKILL.md", "skill://acme/refunds/b.md"]);
const SECRET = entry("skill://acme/secret/SKILL.md", ["skill://acme/secret/SKILL.md"]);
const NATIVE = entry("github://acme/app/skills/release/SKILL.md", []);
const DYNAMIC = entry("skill://acme/daily/SKILL.md", "dynamic");

function entry(uri: string, files: readonly string[] | "dynamic"): string {
  const resources =
    files === "dynamic" ? files : files.map((file) => ({ uri: file, digest: `sha256:${"0".repeat(64)}`, size: 1 }));
  return JSON.stringify({ uri, frontmatter: { name: "n", description: "d" }, resources });
}
const digest = (text: string): string => toolDigest(parseExactJson(text) ?? null);

let upstream: ScriptedUpstream;
let pipeline: Pipeline;
beforeAll(async () => {
  upstream = await startScriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(async () => {
  const route = (name: string, server: string, rules = "", allow = "{ and: [{ domain: example.com }] }"): string => `
      - from: https://mcp.example
        name: ${name}
        prefix: /${name}
        to: ${upstream.origin}
        mcp: { server: { path: /mcp${server} } }
        policy: [{ allow: ${allow} }${rules}]`;
  const skills = JSON.stringify({
    "skill://acme/refunds/SKILL.md": [digest(REFUNDS)],
    "github://acme/app/skills/release/SKILL.md": [digest(NATIVE)],
  });
  const lock = (mode: string): string => `, tool_lock: { tools: {}, skills: ${skills}, on_drift: ${mode} }`;
  const locked = ["hide", "deny", "warn"].map((mode) => route(mode, lock(mode)));
  const starting = (start: string): string => `{ mcp_skill: { starts_with: "skill://${start}/" } }`;
  const denied = `, { deny: { or: [${starting("acme/secret")}, ${starting("Other")}] } }`;
  const only = `{ or: [${starting("acme/refunds")}, { mcp_method: { is: resources/templates/list } }] }`;
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:${route("judged", "", denied)}${route("allowed", "", "", only)}${locked.join("")}
  `);
});
afterEach(() => pipeline.close());

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
  /** The server got the request. */
  readonly reached: boolean;
}

async function ask(route: string, method: string, params: object, result: string): Promise<Answer> {
  let reached = false;
  upstream.answer((socket: Socket) => {
    reached = true;
    const body = `{"jsonrpc":"2.0","id":1,"result":{${result}}}`;
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  const answer = await send(route, method, params);
  return { ...(JSON.parse(answer.body) as Omit<Answer, "reached">), reached };
}
function send(route: string, method: string, params: object): ReturnType<typeof sendRaw> {
  const json = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const body = json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const head = [
    `POST /${route}/mcp HTTP/1.1`,
    "Host: mcp.example",
    "Connection: close",
    "Authorization: Bearer gwt_alice",
    "Accept: application/json, text/event-stream",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return sendRaw(pipeline.port, [...head, "", body].join("\r\n"), 5_000);
}
const list = async (route: string, ...entries: readonly string[]): Promise<readonly string[]> => {
  const { result = {} } = await ask(route, "skills/list", {}, `"skills":[${entries.join(",")}]`);
  return (result["skills"] as { uri: string }[]).map(({ uri }) => uri);
};
const get = (route: string, uri: string, answered: string): Promise<Answer> =>
  ask(route, "skills/get", { uri }, `"skill":${answered}`);
const read = async (route: string, uri: string, method = "resources/read"): Promise<boolean> =>
  (await ask(route, method, { uri }, method === "resources/read" ? '"contents":[]' : '"resources":[]')).reached;

describe("mcp_skill", () => {
  test("a denied skill is not listed, not found, and its files are not read", async () => {
    expect(await list("judged", REFUNDS, SECRET)).toEqual(["skill://acme/refunds/SKILL.md"]);
    const denied = await get("judged", "skill://acme/secret/SKILL.md", SECRET);
    expect(denied).toMatchObject({ reached: false, error: { code: -32602 } });
    expect(denied.error?.message).toMatch(/^Skill not found \(request id /);
    expect(pipeline.records.at(-1)).toMatchObject({ allow: false });
    expect((await get("judged", "skill://acme/refunds/SKILL.md", REFUNDS)).result).toHaveProperty("skill");
    for (const uri of ["skill://acme/secret/a.md", "SKILL://acme/secret/a.md", "skill://acme/%73ecret/a.md"])
      expect(await read("judged", uri), uri).toBe(false);
    expect(await read("judged", "skill://acme/refunds/a.md")).toBe(true);
    expect(await read("judged", "file:///secret")).toBe(true);
  });

  test.each([
    " skill://acme/secret/a.md",
    "\u00a0skill://acme/secret/a.md",
    "\ufeffskill://acme/secret/a.md",
    "%73kill://acme/secret/a.md",
    "skill://acme/refunds/../secret/a.md",
    "skill://user@acme/secret/a.md",
    "skill:\\\\acme\\secret\\a.md",
  ])("a text that servers could read as a denied skill is denied: %j", async (uri) => {
    expect(await read("judged", uri)).toBe(false);
    expect(await read("hide", uri)).toBe(false);
  });

  test("a prefix with capital letters in the first segment matches", async () => {
    expect(await read("judged", "skill://Other/x/a.md")).toBe(false);
    expect(await read("judged", "skill://Others/x/a.md")).toBe(true);
  });

  test("templates of denied skills are hidden, those of other skills are not", async () => {
    const template = (uriTemplate: string): object => ({ uriTemplate, name: "n" });
    const templates = ["skill://acme/secret/{file}", "skill://acme/refunds/{file}", "{+uri}", "file:///{x}"];
    const answered = `"resourceTemplates":${JSON.stringify(templates.map(template))}`;
    const { result } = await ask("judged", "resources/templates/list", {}, answered);
    expect(result?.["resourceTemplates"]).toEqual(templates.slice(1).map(template));
    const allowed = await ask("allowed", "resources/templates/list", {}, answered);
    expect(allowed.result?.["resourceTemplates"]).toEqual(["skill://acme/refunds/{file}", "{+uri}"].map(template));
  });

  test("directories belong to their skill, and their entries are filtered like other lists", async () => {
    expect(await read("judged", "skill://acme/secret", "resources/directory/read")).toBe(false);
    const children = '"resources":[{"uri":"skill://acme/secret/a.md"},{"uri":"skill://acme/refunds"}]';
    const { result } = await ask("judged", "resources/directory/read", { uri: "skill://acme" }, children);
    expect(result?.["resources"]).toEqual([{ uri: "skill://acme/refunds" }]);
  });

  test.each(["resources/directory/read", "resources/list"])(
    "%s: the directory of a denied skill is not named, a file of the same name is",
    async (method) => {
      const directory = (uri: string, mimeType = "inode/directory"): object => ({ uri, name: "n", mimeType });
      const shown = [
        directory("skill://acme/refunds"),
        // Rules about the files below are not about a file.
        { uri: "skill://acme/secret", name: "n", mimeType: "text/markdown", description: "inode/directory" },
        { uri: "skill://acme/refunds", name: "n" },
        directory("file:///secret"),
      ];
      const hidden = [
        directory("skill://acme/secret"),
        directory("skill://acme/secret/"),
        directory("skill://acme/secret", "Inode/Directory; charset=utf-8"),
        directory("skill://acme/%73ecret"),
        // Its server does not say what it is.
        { uri: "skill://acme/secret", name: "n" },
      ];
      const answered = `"resources":${JSON.stringify([...hidden, ...shown])}`;
      const { result } = await ask("judged", method, { uri: "skill://acme" }, answered);
      expect(result?.["resources"]).toEqual(shown);
    },
  );

  test("a response with a denied skill instead of the requested one does not pass", async () => {
    const answer = await get("judged", "skill://acme/refunds/SKILL.md", SECRET);
    expect(answer.result).toBeUndefined();
    expect(JSON.stringify(answer)).not.toContain("secret");
  });
});

describe("a lock with skills", () => {
  test("a changed, an unlocked and a dynamic skill are hidden", async () => {
    expect(await list("hide", REFUNDS, SECRET, DYNAMIC)).toEqual(["skill://acme/refunds/SKILL.md"]);
    expect(await list("hide", CHANGED)).toEqual([]);
    expect(await list("warn", CHANGED, SECRET)).toHaveLength(2);
  });

  test.each(["hide", "deny"])(
    "%s: files of a changed or unknown skill are not read, whatever their scheme",
    async (route) => {
      await list(route, REFUNDS, NATIVE);
      expect(await read(route, "skill://acme/refunds/a.md")).toBe(true);
      expect(await read(route, "skill://acme/refunds", "resources/directory/read")).toBe(true);
      expect(await read(route, "github://acme/app/skills/release/x/y.md")).toBe(true);
      await list(route, CHANGED, entry("github://acme/app/skills/release/SKILL.md", ["github://other"]));
      for (const uri of ["skill://acme/refunds/a.md", "skill://acme/refunds/x/y.md", "skill://acme/new/SKILL.md"])
        expect(await read(route, uri), uri).toBe(false);
      expect(await read(route, "github://acme/app/skills/release/x/y.md")).toBe(false);
      expect(await read(route, "github://acme/app/README.md")).toBe(true);
      const got = await get(route, "skill://acme/refunds/SKILL.md", CHANGED);
      expect(got).toMatchObject({ reached: false, error: { code: -32602 } });
    },
  );

  test.each(["hide", "deny"])(
    "%s: a response to skills/get that differs from the lock does not pass",
    async (route) => {
      await list(route, REFUNDS);
      const answer = await get(route, "skill://acme/refunds/SKILL.md", CHANGED);
      expect(answer).toMatchObject({ reached: true });
      expect(answer.result).toBeUndefined();
      expect((await get("warn", "skill://acme/refunds/SKILL.md", CHANGED)).result).toHaveProperty("skill");
    },
  );

  test("a skill inside a locked one, and a path through a locked one, are not covered by its lock", async () => {
    await list("hide", REFUNDS, NATIVE);
    const uris = [
      "skill://acme/refunds/inner/SKILL.md",
      "skill://acme/refunds/../evil/SKILL.md",
      "skill://acme/refunds/%2e%2e/evil/SKILL.md",
      "skill://acme/refunds%2F..%2Fevil/SKILL.md",
      "github://acme/app/skills/release/sub/SKILL.md",
      "github://acme/app/skills/other/../release/a.md",
    ];
    for (const uri of uris) expect(await read("hide", uri), uri).toBe(false);
  });

  test("other forms of a changed skill's URI are denied", async () => {
    await list("hide", entry("github://acme/app/skills/release/SKILL.md", ["github://other"]));
    for (const uri of [
      "GITHUB://ACME/app/skills/release/a.md",
      "github://acme/app/skills/release?ref=x",
      "github://acme/app/skills/release#x",
    ])
      expect(await read("hide", uri), uri).toBe(false);
  });

  test("a response to skills/get does not end a difference that a page of the list showed", async () => {
    const page = (skill: string, cursor?: string): Promise<Answer> =>
      ask("deny", "skills/list", cursor === undefined ? {} : { cursor }, `"skills":[${skill}],"nextCursor":"2"`);
    await page(CHANGED);
    await get("deny", "github://acme/app/skills/release/SKILL.md", NATIVE);
    await page(REFUNDS, "2");
    expect(await read("deny", "skill://acme/refunds/a.md")).toBe(false);
    await page(REFUNDS);
    expect(await read("deny", "skill://acme/refunds/a.md")).toBe(true);
  });

  test("a changed skill does not come in the response to another request", async () => {
    await list("hide", REFUNDS);
    const other = (events: string): string => `"content":[]}}\n\ndata: {"jsonrpc":"2.0","id":7,"result":{${events}`;
    upstream.answer((socket: Socket) => {
      const body = `data: {"jsonrpc":"2.0","id":1,"result":{${other(`"skill":${CHANGED}`)}}}\n\n`;
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n${body}`);
    });
    const answer = await send("hide", "prompts/get", { name: "p" });
    expect(answer.body).not.toContain("refunds");
  });

  test("a URI with many segments is compared within bounds", async () => {
    await list("hide", REFUNDS);
    expect(await read("hide", `skill://acme/refunds${"/a".repeat(1_500)}`)).toBe(true);
    expect(await read("hide", `other://x${"/a".repeat(1_500)}`)).toBe(true);
  });
});
