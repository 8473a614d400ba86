import { describe, expect, test } from "vitest";

import { itemLabel } from "../../../../runtime/features/mcp/locked-items.ts";
import { listTools } from "../../../../runtime/tools/lock/list-tools.ts";

type Answers = Readonly<Record<string, object | ((cursor: string | undefined) => object)>>;

const ABSENT = { error: { code: -32601, message: "Method not found" } };
const TOOLS = { result: { tools: [{ name: "read" }] } };

/** @returns labels of what is found, or the error */
async function found(answers: Answers): Promise<readonly string[] | string> {
  const fetch = async (_url: string, { method, body }: { readonly method?: string; readonly body?: string } = {}) => {
    if (method !== "POST") return new Response();
    const message = JSON.parse(body ?? "") as { id?: number; method: string; params?: { cursor?: string } };
    if (message.id === undefined) return new Response(null, { status: 202 });
    const answer = answers[message.method] ?? ABSENT;
    const said = typeof answer === "function" ? answer(message.params?.cursor) : answer;
    const status = "error" in said && said !== ABSENT ? 403 : 200;
    return Response.json({ jsonrpc: "2.0", id: message.id, ...said }, { status });
  };
  return listTools({ url: "https://mcp.example/mcp", token: "t" }, fetch as never).then(
    (items) => items.map(({ kind, name }) => itemLabel(kind, name)),
    (error: unknown) => (error as Error).message.replace(/^.*": /, ""),
  );
}

const ALL: Answers = {
  "tools/list": TOOLS,
  "prompts/list": (cursor) =>
    cursor === undefined
      ? { result: { prompts: [{ name: "one" }], nextCursor: "2" } }
      : { result: { prompts: [{ name: "two" }] } },
  "resources/templates/list": { result: { resourceTemplates: [{ uriTemplate: "file:///{x}" }] } },
  "skills/list": {
    result: {
      skills: [
        { uri: "skill://a/SKILL.md", resources: [] },
        // Without digests of its files there is nothing to lock.
        { uri: "skill://b/SKILL.md", resources: "dynamic" },
      ],
    },
  },
};
const FOUND = ["read", "prompt one", "prompt two", "resource template file:///{x}", "skill skill://a/SKILL.md"];

describe("listTools()", () => {
  test("finds all that can be locked, on all pages, in both eras", async () => {
    expect(await found({ ...ALL, "server/discover": { result: { instructions: "x" } } })).toEqual([
      ...FOUND,
      "instructions",
    ]);
    let isOpen = false;
    const session: Answers = {
      ...ALL,
      "tools/list": () => (isOpen ? TOOLS : ABSENT),
      initialize: () => ((isOpen = true), { result: { instructions: "x" } }),
    };
    expect(await found(session)).toEqual([...FOUND, "instructions"]);
  });

  test("treats methods that a server lacks, and those that policy denies, as empty", async () => {
    expect(await found({ "tools/list": TOOLS })).toEqual(["read"]);
    const denied = { error: { code: -31403, message: "Request denied by policy" } };
    expect(await found({ "tools/list": TOOLS, "prompts/list": denied, "server/discover": denied })).toEqual(["read"]);
    expect(await found({ "tools/list": TOOLS, "server/discover": { result: { instructions: null } } })).toEqual([
      "read",
    ]);
  });

  test.each([
    ["another error", { "prompts/list": { error: { code: -32603, message: "broken" } } }, 'it answers 403 "broken"'],
    ["no list", { "prompts/list": { result: {} } }, "it lists no prompts"],
    [
      "a template without one",
      { "resources/templates/list": { result: { resourceTemplates: [{ name: "x" }] } } },
      "it lists a resource template without a name",
    ],
    [
      "instructions of another type",
      { "server/discover": { result: { instructions: ["x"] } } },
      "its instructions are not a text",
    ],
  ])("fails for %s, since items missing from a lock are denied", async (_, answers, why) => {
    expect(await found({ ...ALL, ...answers })).toBe(why);
  });
});
