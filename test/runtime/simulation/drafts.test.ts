/** Drafts: put in the place of what they would replace, validated as a publish would be, compared, explained, exported. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadSlices } from "../../../runtime/config/load.ts";
import { publishedSources } from "../../../runtime/bundle/validation/validate-candidates.ts";
import { createAnswerTask } from "../../../runtime/simulation/answer-task.ts";
import type { Draft } from "../../../runtime/simulation/draft.ts";
import { createDraftRecords } from "../../../runtime/simulation/draft-records.ts";
import { createDraftThread } from "../../../runtime/simulation/draft-thread.ts";
import type { DraftBase, Scope, TaskAnswer, ReportedDraft } from "../../../runtime/simulation/protocol.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";

const BOOT = `runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: ["*.example.net"]
idp_client_secret: not-for-anybody
owners:
  team-a: { allowed_from: ["*.a.example.com"], allowed_settings: [authorize_log_fields] }
  team-b: { allowed_from: ["*.b.example.com"] }
routes:
  - name: wiki
    from: https://wiki.example.com
    to: http://wiki.example.net
    set_request_headers: { Authorization: Basic c2VjcmV0 }
    policy: [{ allow: { and: [{ domain: example.com }] } }]
`;
const PAY = { tool: "pay", argument: "/amount", gt: 500 };
const sliceOf = (owner: string, routes: object): string => JSON.stringify({ version: 1, owner, routes });
const orders = (amount: object): object => ({
  from: "https://orders.a.example.com",
  to: "http://orders.example.net",
  mcp: { server: {} },
  policy: [{ allow: { and: [{ groups: { has: "staff" } }] } }, { deny: { or: [{ mcp_tool_argument: amount }] } }],
});
const SLICE_A = sliceOf("team-a", { orders: orders(PAY) });
const SLICE_B = sliceOf("team-b", {
  shop: {
    from: "https://shop.b.example.com",
    to: "http://shop.example.net",
    policy: [{ allow: { and: [{ email: "bob@example.com" }] } }],
  },
});
const GROUND: DraftBase = {
  published: publishedSources([
    { owner: "team-a", digest: "a", text: SLICE_A },
    { owner: "team-b", digest: "b", text: SLICE_B },
  ]),
  kept: [],
};
/** Nobody may pay 500 any more. */
const LESS = `- allow: { and: [{ groups: { has: staff } }] }
- deny: { or: [{ mcp_tool_argument: { tool: pay, argument: /amount, gte: 500 } }] }
`;
const policyDraft: Draft = { kind: "policy", owner: "team-a", route: "team-a/orders", text: LESS };

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "drafts-"));
  await writeFile(join(directory, "gateway.yaml"), BOOT);
});
afterAll(() => rm(directory, { recursive: true }));

const answer = (...of: Parameters<ReturnType<typeof createAnswerTask>>): Promise<TaskAnswer> =>
  createAnswerTask({ path: directory, sealKeys: [Buffer.alloc(32)] })(...of);

async function compared(draft: Draft, scope?: Scope, ground = GROUND): Promise<ReportedDraft> {
  const answered = await answer({ kind: "compare-draft", draft, people: [], scope }, ground);
  if (answered.kind !== "draft") throw new Error(JSON.stringify(answered));
  return answered.report;
}

describe("a draft of one route's policy", () => {
  test("names who loses access, with an example, and without other owners' statements", async () => {
    const { isGood, problems, difference } = await compared(policyDraft, ["team-a"]);
    expect({ isGood, problems }).toEqual({ isGood: true, problems: [] });
    expect(difference?.statements).toMatchObject([
      { route: "team-a/orders", kind: "loses", text: expect.stringContaining('such as with {"amount":500}') as string },
    ]);
    expect(difference?.statements[0]?.example).toMatchObject({
      groups: "staff",
      tool: "pay",
      arguments: '{"amount":500}',
    });
    expect(difference?.settings).toEqual([]);
    expect(difference?.before).not.toBe(difference?.after);
  });

  test("of the operator's file changes only that route", async () => {
    const text = "policy: [{ allow: { and: [{ domain: example.com }, { email: alice@example.com }] } }]";
    const { isGood, difference } = await compared({ kind: "policy", owner: "default", route: "default/wiki", text });
    expect(isGood).toBe(true);
    expect(new Set(difference?.statements.map(({ route, kind }) => `${route} ${kind}`))).toEqual(
      new Set(["default/wiki loses"]),
    );
  });

  test.each([
    ["- allow: { and: [{ grups: staff }] }", "routes.orders.policy", "grups"],
    ["policy: 7", "routes.orders.policy", "7"],
    ["{", "", ""],
    ["a: &a [*a]", "", ""],
  ])("of %j is refused with its place", async (text, path, message) => {
    const { isGood, problems, difference } = await compared({ ...policyDraft, text });
    expect({ isGood, difference }).toEqual({ isGood: false, difference: undefined });
    expect(problems[0]).toMatchObject({
      severity: "error",
      path: expect.stringContaining(path) as string,
      message: expect.stringContaining(message) as string,
    });
  });

  test("of a route that does not exist is rejected", async () => {
    expect((await compared({ ...policyDraft, route: "team-a/gone" })).problems[0]?.message).toContain(
      "there is no such route",
    );
    // Whose route it is says its owner, not its key.
    expect((await compared({ ...policyDraft, owner: "team-b" })).isGood).toBe(false);
  });
});

describe("a draft of a slice", () => {
  const yaml = (from: string): string =>
    `version: 1\nowner: team-a\nsettings: { authorize_log_fields: [method] }\nroutes:\n  other:\n    from: ${from}\n    to: http://other.example.net\n    timeout: 5s\n    policy: [{ allow: { and: [{ email: zoe@example.com }] } }]\n`;

  test("is compared with its owner's current slice, including settings", async () => {
    const { isGood, difference } = await compared(
      { kind: "slice", owner: "team-a", text: yaml("https://other.a.example.com") },
      ["team-a"],
    );
    expect(isGood).toBe(true);
    expect(difference?.statements.map(({ kind, route }) => `${kind} ${route}`).toSorted()).toEqual(
      expect.arrayContaining(["gains team-a/other", "loses team-a/orders"]),
    );
    expect(difference?.settings).toEqual([
      { route: "", name: "authorize_log_fields", change: "added", after: '["method"]' },
      { route: "team-a/orders", name: "", change: "removed" },
      { route: "team-a/other", name: "", change: "added" },
    ]);
  });

  test("is validated like a publication: rights of its owner, with lines", async () => {
    const { problems } = await compared({ kind: "slice", owner: "team-a", text: yaml("https://wiki.example.com") });
    expect(problems[0]).toMatchObject({ severity: "error", path: "routes.other.from", line: 6 });
  });

  test("of one owner changes no other owner's slice", async () => {
    const { problems } = await compared({ kind: "slice", owner: "team-b", text: SLICE_A });
    expect(problems[0]?.message).toContain('names the owner "team-a", and "team-b" was chosen');
  });

  test("of the operator's file may contain its routes, not its settings", async () => {
    const routes =
      "routes: [{ name: wiki, from: https://wiki.example.com, to: http://wiki.example.net, policy: [{ allow: { and: [{ accept: true }] } }] }]";
    const of = (text: string): Promise<ReportedDraft> => compared({ kind: "slice", owner: "default", text });
    expect((await of(routes)).difference?.statements.map(({ kind }) => kind)).toContain("gains");
    expect((await of(`shared_secret: x\n${routes}`)).isGood).toBe(false);
  });

  test("hides values of settings that may be secret", async () => {
    const changed = BOOT.replace("c2VjcmV0", "b3RoZXI=").split("routes:")[1] ?? "";
    const { difference } = await compared({ kind: "slice", owner: "default", text: `routes:${changed}` });
    expect(difference?.settings).toEqual([
      { route: "default/wiki", name: "set_request_headers.Authorization", change: "changed" },
    ]);
  });

  test.each([
    ["the address of an MCP server", { regex: "^/tick.*$" }],
    ["the same requests", { prefix: "/tickets" }],
    ["an address that another route takes", { mcp: { server: { path: "/tickets" } } }],
  ])("names no other owner's route that is in the way: %s", async (_, route) => {
    const policy = [{ allow: { and: [{ email: "a@example.com" }] } }];
    const from = "https://shared.example.com";
    const to = "http://x.example.net";
    const published = publishedSources([
      {
        owner: "tickets",
        digest: "b",
        text: sliceOf("tickets", { server: { from, to, prefix: "/tickets", policy, mcp: { server: {} } } }),
      },
    ]);
    const boot = { file: "gateway.yaml", text: "runtime_flags: { mcp: true }\n", boot: true };
    await writeFile(join(directory, "shared.yaml"), boot.text);
    const answerShared = createAnswerTask({ path: join(directory, "shared.yaml"), sealKeys: [Buffer.alloc(32)] });
    const draft: Draft = {
      kind: "slice",
      owner: "team-a",
      text: sliceOf("team-a", { mine: { from, to, policy, ...route } }),
    };
    const told = async (scope: Scope): Promise<string> =>
      JSON.stringify(await answerShared({ kind: "compare-draft", draft, people: [], scope }, { published, kept: [] }));
    expect(await told(undefined)).toContain("published:tickets");
    const seen = await told(["team-a"]);
    expect(seen).toContain("conflicts with another owner's configuration");
    expect(seen).not.toMatch(/tickets|routes\.server/);
  });

  test("shows one owner nothing of another's file", async () => {
    // Not served, whatever team-a does.
    const broken = publishedSources([{ owner: "team-b", digest: "x", text: sliceOf("team-b", { shop: { from: 7 } }) }]);
    const told = await compared(
      { kind: "slice", owner: "team-a", text: yaml("https://other.a.example.com") },
      ["team-a"],
      { ...GROUND, published: broken },
    );
    expect(JSON.stringify(told)).not.toMatch(/team-b|shop|wiki|not-for-anybody/);
  });
});

describe("questions and exports", () => {
  const asked = (amount: number, scope?: Scope): Promise<TaskAnswer> =>
    answer(
      {
        kind: "explain-draft",
        draft: policyDraft,
        route: { key: "team-a/orders" },
        question: {
          user: "u",
          email: "",
          groups: "staff",
          method: "POST",
          path: "/",
          tool: "pay",
          arguments: JSON.stringify({ amount }),
        },
        scope,
      },
      GROUND,
    );

  test("a question is answered as if the draft were active", async () => {
    expect(await asked(500)).toMatchObject({ kind: "explained", explained: { verdict: "denied" } });
    expect(await asked(499)).toMatchObject({ kind: "explained", explained: { verdict: "allowed" } });
    expect(await asked(500, ["team-b"])).toMatchObject({ kind: "none" });
  });

  test("reads the policy of a route as the starting point of a draft", async () => {
    const read = await answer({ kind: "read-policy", route: "team-a/orders" }, GROUND);
    expect(read).toMatchObject({ kind: "policy", owner: "team-a" });
    const { problems, difference } = await compared({ ...policyDraft, text: read.kind === "policy" ? read.yaml : "" });
    expect({ problems, statements: difference?.statements }).toEqual({ problems: [], statements: [] });
  });

  test("YAML is a slice that loads; it has none of the operator's secrets", async () => {
    const exported = async (draft: Draft, format: "yaml" | "hcl" | "typescript"): Promise<string> => {
      const made = await answer({ kind: "export-draft", draft, format, where: "Published." }, GROUND);
      return made.kind === "exported" ? made.exported.text : JSON.stringify(made);
    };
    const text = await exported(policyDraft, "yaml");
    const boot = { file: "gateway.yaml", text: BOOT, boot: true };
    const { problems, config } = loadSlices([boot, { file: "team-a.yaml", text, boot: false }]);
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(config?.routes.find(({ key }) => key === "team-a/orders")?.text).toContain('"gte":500');
    for (const format of ["yaml", "hcl", "typescript"] as const) {
      const wiki = await exported({ kind: "policy", owner: "default", route: "default/wiki", text: "[]" }, format);
      expect(wiki).toContain("https://wiki.example.com");
      expect(wiki).toContain("keep your own: set_request_headers");
      expect(wiki).not.toMatch(/c2VjcmV0|not-for-anybody|example\.net/);
    }
  });

  test("a past publication is compared with the current one", async () => {
    const before = publishedSources([{ owner: "team-a", digest: "0", text: sliceOf("team-a", {}) }]);
    const told = await answer(
      { kind: "compare-published", before, after: GROUND.published, scope: ["team-a"] },
      GROUND,
    );
    expect(told).toMatchObject({
      kind: "difference",
      difference: { settings: [{ route: "team-a/orders", change: "added" }] },
    });
    expect(JSON.stringify(told)).not.toContain("team-b");
  });

  test("nothing current changes", async () => {
    expect(await readFile(join(directory, "gateway.yaml"), "utf8")).toBe(BOOT);
  });
});

describe("createDraftThread()", () => {
  test("answers, ends questions over the limits, and answers the next", async () => {
    const thread = createDraftThread({ path: directory, sealKeys: [Buffer.alloc(32)], readBase: async () => GROUND });
    const hurried = createDraftThread({
      path: directory,
      sealKeys: [Buffer.alloc(32)],
      readBase: async () => GROUND,
      timeoutMs: 1,
    });
    const task = { kind: "compare-draft", draft: policyDraft, people: [], scope: undefined } as const;
    try {
      await expect(hurried.ask(task)).rejects.toMatchObject({ code: "draft.failed" });
      const bomb = `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join()}]`).join("\n")}`;
      const blown = await thread.ask({ ...task, draft: { ...policyDraft, text: bomb } });
      expect(blown).toMatchObject({ kind: "draft", report: { isGood: false } });
      expect(await thread.ask(task)).toMatchObject({ kind: "draft", report: { isGood: true } });
      const many = await Promise.allSettled(Array.from({ length: 12 }, () => thread.ask(task)));
      expect(
        many
          .filter(({ status }) => status === "rejected")
          .map((each) => each.status === "rejected" && (each.reason as { code: string }).code),
      ).toEqual(Array(4).fill("draft.busy"));
    } finally {
      await Promise.all([thread.close(), hurried.close()]);
    }
  });
});

test("createDraftThread() answers one owner between the drafts of another", async () => {
  const thread = createDraftThread({ path: directory, sealKeys: [Buffer.alloc(32)], readBase: async () => GROUND });
  const order: string[] = [];
  const ask = async (route: string): Promise<void> => {
    await thread.ask({ kind: "read-policy", route });
    order.push(route);
  };
  try {
    await Promise.all([...Array.from({ length: 8 }, () => ask("a/r")), ask("b/r")]);
    expect(order.indexOf("b/r")).toBeLessThan(3);
  } finally {
    await thread.close();
  }
});

describe("createDraftRecords()", () => {
  test("stores a bounded number of a user's drafts for a day, and lets no other user remove them", async () => {
    let now = 1_000_000;
    const clock = { now: () => now };
    const store = createMemoryStore({ clock });
    const drafts = createDraftRecords({ store, clock });
    const first = await drafts.put("alice", policyDraft);
    expect(await drafts.get(first)).toMatchObject({ ...policyDraft, author: "alice", at: 1_000 });
    expect(await drafts.remove(first, "bob")).toBe(false);
    for (let at = 0; at < 25; at += 1) {
      now += 1_000;
      await drafts.put("alice", { ...policyDraft, text: String(at) });
    }
    const kept = await drafts.list("alice");
    expect(kept.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, at) => String(24 - at)));
    expect(await drafts.get(first)).toBeUndefined();
    expect(await drafts.list("bob")).toEqual([]);
    expect(await drafts.get("../slices")).toBeUndefined();
    const latest = kept[0]?.id ?? "";
    expect(await drafts.remove(latest, "alice")).toBe(true);
    now += 86_400_000;
    expect(await drafts.list("alice")).toEqual([]);
  });
});
