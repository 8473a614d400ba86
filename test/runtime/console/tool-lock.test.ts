import { beforeAll, describe, expect, test } from "vitest";

import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import { toolLockScreen } from "../../../runtime/console/tool-lock/tool-lock-screen.ts";
import {
  formatToolLock,
  parseToolLock,
  toolOf,
  type LockedServer,
  type LockedTool,
} from "../../../runtime/features/mcp/tool-lock-file.ts";
import { readListAnswer } from "../../../runtime/mcp/lists/list-answer.ts";
import { toolLockOf } from "../../../runtime/mcp/tool-locks/tool-locks.ts";
import { parseExactJson } from "../../../runtime/shared/json/exact-json.ts";
import {
  openConsoleWorld,
  rightsTo,
  shown,
  textOfMarkup,
  VIEWER,
  visitTo,
  type ConsoleWorld,
} from "../../support/console-world.ts";

const READ = '{"name":"read","description":"Reads","n":9007199254740993}';
const CHANGED = '{"name":"read","description":"Sends\u200b <b>all</b>","n":9007199254740993}';
const WRITE = '{"name":"write","description":"Writes"}';
const NEW = '{"name":"drop","description":"Drops"}';
const ADDRESS = "https://mcp.example/files/mcp";

const tool = (text: string): LockedTool => toolOf(parseExactJson(text) ?? null) as LockedTool;
const HELP = toolOf("Read first.", "instructions") as LockedTool;
const toolsOnly = (...items: readonly LockedTool[]) => ({ kinds: new Set(["tool"] as const), items });
const TEXTS = "https://mcp.example/texts/mcp";
const lockFile = formatToolLock(
  new Map<string, LockedServer>([
    [ADDRESS, toolsOnly(tool(READ), tool(WRITE))],
    [TEXTS, { kinds: new Set(["tool", "prompt", "instructions"]), items: [tool(READ), HELP] }],
  ]),
);

let world: ConsoleWorld;
beforeAll(async () => {
  const yaml = `
    runtime_flags: { mcp: true }
    routes:
      - name: files
        from: https://mcp.example
        prefix: /files
        to: http://127.0.0.1:9
        mcp: { server: { path: /mcp, tool_lock: { file: /etc/tools.lock } } }
        policy: []
      - name: digests
        from: https://mcp.example
        prefix: /digests
        to: http://127.0.0.1:9
        mcp: { server: { tool_lock: { tools: { read: ["${tool(READ).digest}"] }, on_drift: warn } } }
        policy: []
      - name: texts
        from: https://mcp.example
        prefix: /texts
        to: http://127.0.0.1:9
        mcp: { server: { path: /mcp, tool_lock: { file: /etc/tools.lock } } }
        policy: []
      - { name: open, from: https://open.example, to: "http://127.0.0.1:9", mcp: { server: {} }, policy: [] }
    `;
  world = await openConsoleWorld(yaml, { secrets: { "file:/etc/tools.lock": lockFile } });
});

let viewers = 0;
function list(name: string, ...tools: readonly string[]): void {
  observe(name, `"tools":[${tools.join()}]`);
}
function observe(name: string, result: string): void {
  const route = world.snapshot.routes.find((each) => each.name === name) as CompiledRoute;
  const lock = toolLockOf(route);
  if (!lock) throw new Error("no lock");
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{${result}}}`);
  const answer = readListAnswer(bytes);
  if (typeof answer === "string") throw new Error(answer);
  viewers += 1;
  const since = world.toolLocks.begin(route, String(viewers), "tool", "1", true);
  const check = world.toolLocks.check(route, lock, bytes, answer);
  world.toolLocks.observe(route, check, { viewer: String(viewers), since: () => since });
}

const screen = () => toolLockScreen({ toolLocks: world.toolLocks });
const show = (path: string, rights = VIEWER) => shown(screen(), visitTo(world, path, rights));

describe("the tool lock's screen", () => {
  test("says of tools that no list has shown, and where nothing differs", async () => {
    expect(textOfMarkup(await show("default/files"))).toMatch(/read Not listed yet write Not listed yet/);
    list("files", READ, WRITE);
    expect(textOfMarkup(await show("default/files"))).toMatch(/read Locked write Locked/);
    expect(await show("default/files")).not.toMatch(/Differences|Export updated lock/);
    expect(textOfMarkup(await show(""))).toMatch(/default\/digests .* 1 0 0 Unchanged/);
    expect(await show("default/open")).toBeUndefined();
    expect(await show("default/files", rightsTo([], { other: ["viewer"] }))).toBeUndefined();
  });

  test("shows what differs as the command does, with what nobody would see, and the lock as it would be", async () => {
    list("files", CHANGED, WRITE, NEW);
    const body = (await show("default/files")) ?? "";
    expect(body).toContain("<ins>Sends\\u200b");
    expect(body).toContain("&#60;b&#62;all&#60;/b&#62;");
    expect(body).not.toContain("<b>");
    // What changed is never called new.
    expect(textOfMarkup(body)).toMatch(
      /read Changed .* drop Not in the lock .* Locked items.* read Changed drop Not in the lock write Locked/,
    );
    expect(textOfMarkup(await show(""))).toMatch(/default\/files .* 2 1 1 Changed/);

    const sent: string[] = [];
    const visit = visitTo(world, "default/files/lock.json", VIEWER);
    const respond = (...of: readonly unknown[]): void => void sent.push(String(of.at(-1)));
    const exchange = { method: "GET", id: "1", started: false, header: () => undefined, respond };
    expect(await screen().respond?.({ ...visit, exchange } as never)).toBe(true);
    const reading = parseToolLock(sent.join(""));
    if (!reading.ok) throw new Error(reading.problem);
    expect(
      reading.servers
        .get(ADDRESS)
        ?.items.map(({ digest }) => digest)
        .toSorted(),
    ).toEqual([tool(CHANGED), tool(NEW), tool(WRITE)].map(({ digest }) => digest).toSorted());
  });

  test("shows prompts and instructions that differ, and has them in the lock as it would be", async () => {
    observe("texts", `"prompts":[{"name":"read","description":"Sends all"}],"instructions":"Send first."`);
    const body = (await show("default/texts")) ?? "";
    const text = textOfMarkup(body);
    expect(text).toMatch(/instructions Changed prompt read Not in the lock read Not listed yet/);
    expect(body).toMatch(/<del>Read<\/del><ins>Send<\/ins> first\./);
    expect(text).toContain("prompt read Not in the lock description Sends all");
    const sent: string[] = [];
    const visit = visitTo(world, "default/texts/lock.json", VIEWER);
    const respond = (...of: readonly unknown[]): void => void sent.push(String(of.at(-1)));
    const exchange = { method: "GET", id: "1", started: false, header: () => undefined, respond };
    expect(await screen().respond?.({ ...visit, exchange } as never)).toBe(true);
    expect(JSON.parse(sent.join(""))).toMatchObject({
      servers: {
        [TEXTS]: {
          tools: [{}],
          prompts: [{ definition: { name: "read" } }],
          instructions: [{ definition: "Send first." }],
        },
      },
    });
  });

  test("offers no lock where it does not know all that was reviewed, or all that is listed", async () => {
    list("digests", CHANGED);
    const body = (await show("default/digests")) ?? "";
    expect(textOfMarkup(body)).toMatch(/read Changed The lock has only the digest of the reviewed definition/);
    expect(body).not.toContain("Not in the lock");
    expect(body).not.toContain("Export updated lock");
    const long = `{"name":"read","description":"${"x".repeat(40_000)}"}`;
    list("files", long, WRITE);
    const after = (await show("default/files")) ?? "";
    expect(textOfMarkup(after)).toContain("Differences not available here: read");
    expect(after).not.toContain("Export updated lock");
  });
});
