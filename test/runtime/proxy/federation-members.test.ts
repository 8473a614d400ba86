/** Members of a federated route that lie, and that deny: whatever they send, and whatever their policies say. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { snapshotFrom } from "../../support/config.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { createRandom } from "../../support/random.ts";
import {
  honestly,
  startScriptedMembers,
  type Scripted,
  type ScriptedMembers,
  type ScriptedMessage,
} from "../../support/scripted-members.ts";

type Answer = (message: ScriptedMessage) => Scripted;

let servers: ScriptedMembers;
let pipeline: Pipeline;

beforeAll(async () => {
  servers = await startScriptedMembers();
});
afterAll(() => servers.close());
beforeEach(async () => {
  pipeline = await startPipeline("routes: []");
});
afterEach(async () => {
  await pipeline.close();
  servers.scripts.clear();
  servers.seen.length = 0;
});

const ALLOW = "{ allow: { and: [{ domain: example.com }] } }";

/** @param members policy rules by name */
function serve(members: Readonly<Record<string, string>>, all = ALLOW): void {
  const route = (name: string, rest: string): string =>
    `  - { name: ${name}, from: "http://localhost:${pipeline.port}", prefix: /${name}, ${rest} }`;
  const names = Object.keys(members);
  pipeline.swap(`
runtime_flags: { mcp: true }
routes:
${route("all", `mcp: { server: { members: { ${names.map((name) => `${name}: ${name}`).join(", ")} } } }, policy: [${all}]`)}
${names.map((name) => route(name, `to: "${servers.origin}", mcp: { server: { path: /${name} } }, policy: [${members[name]}]`)).join("\n")}
`);
}

/** Rules that can never match are errors. */
function isLoadable(policy: string): boolean {
  const route = `{ from: "https://a.example", to: "${servers.origin}", mcp: { server: {} }, policy: [${policy}] }`;
  try {
    snapshotFrom(`runtime_flags: { mcp: true }\nroutes: [${route}]`);
    return true;
  } catch {
    return false;
  }
}

interface Body {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

async function ask(path: string, method: string, params: object = {}, user = "alice"): Promise<Body> {
  const answer = await fetch(`http://localhost:${pipeline.port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer gwt_${user}`, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "mine", method, params }),
  });
  return (await answer.json()) as Body;
}

const namesIn = ({ result }: Body): readonly string[] =>
  ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

test("what a member's policy denies directly is denied here, and the reverse, for random policies, users and calls", async () => {
  const random = createRandom("federated policies");
  const pick = (...texts: readonly string[]): string => texts[Math.floor(random() * texts.length)] ?? "";
  const leaf = (): string =>
    pick(
      ...["t0", "t1", "t2", "t3"].map((tool) => `{ mcp_tool: ${tool} }`),
      "{ mcp_tool: { starts_with: t } }",
      "{ groups: { has: admins } }",
      "{ email: bob@example.com }",
      "{ mcp_method: tools/call }",
    );
  const rule = (action: string): string =>
    `{ ${action}: { ${pick("and", "or", "not", "nor")}: [${leaf()}, ${leaf()}] } }`;
  const members: Record<string, string> = {};
  const policies = Array.from({ length: 100 }, () =>
    random() < 0.5 ? `${ALLOW}, ${rule("deny")}` : `${rule("allow")}, ${rule("allow")}, ${rule("deny")}`,
  );
  for (const [index, policy] of policies.filter(isLoadable).slice(0, 16).entries()) members[`m${index}`] = policy;
  serve(members);
  const verdicts = { allowed: 0, denied: 0 };
  for (const user of ["alice", "bob"]) {
    const listed = namesIn(await ask("/all", "tools/list", {}, user));
    for (const name of Object.keys(members)) {
      const direct = await ask(`/${name}/${name}`, "tools/list", {}, user);
      const own = direct.result === undefined ? [] : namesIn(direct).map((tool) => `${name}__${tool}`);
      expect(
        listed.filter((tool) => tool.startsWith(`${name}__`)),
        `${name} ${members[name]}`,
      ).toEqual(own);
      for (const tool of ["t0", "t1", "t2", "t3"]) {
        const [one, other] = await Promise.all([
          ask(`/${name}/${name}`, "tools/call", { name: tool }, user),
          ask("/all", "tools/call", { name: `${name}__${tool}` }, user),
        ]);
        expect(other.result, `${user} ${tool} ${members[name]}`).toEqual(one.result);
        verdicts[one.result === undefined ? "denied" : "allowed"] += 1;
      }
    }
  }
  // Both occur, or the test would show nothing.
  expect([verdicts.allowed > 20, verdicts.denied > 20]).toEqual([true, true]);
});

describe("a member that lies", () => {
  beforeEach(() => serve({ bad: ALLOW, good: ALLOW }));
  const lie = (method: string, answer: Answer): void => {
    servers.scripts.set("/bad", (asked) => (asked.message.method === method ? answer(asked.message) : honestly(asked)));
  };
  const GOOD = ["good__t0", "good__t1", "good__t2", "good__t3"];

  test.each<[string, Answer]>([
    [
      "pages without end",
      ({ id, params }) => ({
        jsonrpc: "2.0",
        id,
        result: { tools: [], nextCursor: `${(params?.["cursor"] as string | undefined) ?? ""}x` },
      }),
    ],
    ["the same cursor again", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [], nextCursor: "x" } })],
    ["a list of another type", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: { t0: {} } } })],
    ["an ID of no request", () => ({ jsonrpc: "2.0", id: "other", result: { tools: [{ name: "x" }] } })],
    ["items of other types", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [1, null, "t", { name: 1 }, []] } })],
    ["a stream without response", () => [{ jsonrpc: "2.0", method: "notifications/message", params: {} }]],
    ["a name that is too long", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [{ name: "x".repeat(60) }] } })],
  ])("lists: %s: the other member's tools are all there, and none of its own", async (_, answer) => {
    lie("tools/list", answer);
    expect(namesIn(await ask("/all", "tools/list"))).toEqual(GOOD);
    expect(
      servers.seen.filter(({ path, message }) => path === "/bad" && message.method === "tools/list").length,
    ).toBeLessThan(20);
  });

  test("a list of millions is bounded, and names of another member's prefix stay behind its own", async () => {
    const tools = Array.from({ length: 3_000 }, (_, index) => ({ name: `good__t${index}` }));
    lie("tools/list", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools } }));
    const names = namesIn(await ask("/all", "tools/list"));
    expect([names.length, names[0]]).toEqual([2_004, "bad__good__t0"]);
    expect(names.slice(-4)).toEqual(GOOD);
    const { result } = await ask("/all", "tools/call", { name: "bad__good__t0" });
    expect(result?.["content"]).toEqual([{ type: "text", text: "called good__t0" }]);
    expect(servers.seen.at(-1)?.path).toBe("/bad");
  });

  test.each<[string, Answer]>([
    ["an ID of no request", () => [{ jsonrpc: "2.0", id: "other", result: { content: [] } }]],
    ["nothing", () => []],
    ["a wrong type", () => ["no message"] as never],
    ["an error of the wrong type", ({ id }) => ({ jsonrpc: "2.0", id, error: "no" })],
  ])("calls: %s is one error with the client's ID", async (_, answer) => {
    lie("tools/call", answer);
    const body = await ask("/all", "tools/call", { name: "bad__t0" });
    expect([body.id, body.result, body.error?.code]).toEqual(["mine", undefined, -32603]);
    expect((await ask("/all", "tools/call", { name: "good__t0" })).result).toBeDefined();
  });

  test("only the first response of a call counts", async () => {
    const of = (id: unknown, text: string) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
    lie("tools/call", ({ id }) => [of("other", "foreign"), of(id, "first"), of(id, "second")]);
    expect((await ask("/all", "tools/call", { name: "bad__t0" })).result?.["content"]).toEqual([
      { type: "text", text: "first" },
    ]);
  });

  test("a URI goes to the member that lists it, whatever templates another one has, and to none if none claims it", async () => {
    lie("resources/templates/list", ({ id }) => {
      const resourceTemplates = ["{+all}", "{scheme}://{path}", "x{y}"].map((uriTemplate) => ({
        name: "t",
        uriTemplate,
      }));
      return { jsonrpc: "2.0", id, result: { resourceTemplates } };
    });
    servers.scripts.set("/good", (asked) =>
      asked.message.method === "resources/list"
        ? { jsonrpc: "2.0", id: asked.message.id, result: { resources: [{ name: "r", uri: "x://mine" }] } }
        : honestly(asked),
    );
    const pathsOf = (): readonly string[] =>
      servers.seen.filter(({ message }) => message.method === "resources/read").map(({ path }) => path);
    expect((await ask("/all", "resources/read", { uri: "x://mine" })).result).toBeDefined();
    expect((await ask("/all", "resources/read", { uri: "x://other" })).error?.code).toBe(-32002);
    expect(pathsOf()).toEqual(["/good"]);
  });
});
