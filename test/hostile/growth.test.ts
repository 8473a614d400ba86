/**
 * Work whose size another party chooses: at 10⁵ members, names, lines or rules it costs as much as a few dozen ordinary ones,
 * or is rejected. DESIGN.md, "Budgets", explains each entry.
 */
import { X509Certificate } from "node:crypto";

import { expect, test, vi } from "vitest";

import { createRedactor } from "../../runtime/audit/redaction/redactor.ts";
import { mergeSettings } from "../../runtime/config/merge.ts";
import type { ReadSlice } from "../../runtime/config/read-slice.ts";
import { explainedRoute } from "../../runtime/simulation/explain/explained-route.ts";
import { readQuestion } from "../../runtime/simulation/explain/question.ts";
import { compileResponseHeaders } from "../../runtime/features/headers/compile.ts";
import { EventBlocks } from "../../runtime/mcp/lists/event-blocks.ts";
import { certificateFacts } from "../../runtime/http/listener/client-certificate.ts";
import { sealTasks } from "../../runtime/mcp/tasks/task-answers.ts";
import { createTaskIds } from "../../runtime/mcp/tasks/task-ids.ts";
import { compileContains } from "../../runtime/shared/linear/contains.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { denialDetails } from "../../runtime/policy/explain.ts";
import type { Facts } from "../../runtime/policy/facts.ts";
import { readArguments } from "../../runtime/policy/mcp/argument-values.ts";
import { parseRanges } from "../../runtime/policy/subjects.ts";
import { type CriterionDoc, parsePolicy } from "../../runtime/policy/parse.ts";
import { validatePolicy } from "../../runtime/policy/validate-rules.ts";
import type { StreamReceiver } from "../../runtime/proxy/announced-address.ts";
import type { ListChanges } from "../../runtime/proxy/lists/list-changes.ts";
import type { ListReceiver } from "../../runtime/proxy/lists/list-receiver.ts";
import { keepsFor } from "../../runtime/proxy/lists/list-rules.ts";
import { streamReaderFor } from "../../runtime/proxy/lists/stream-reader.ts";
import type { RequestContext } from "../../runtime/proxy/request-context.ts";
import { parseVerbatim } from "../../runtime/shared/canonical-json.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { parsePattern } from "../../runtime/shared/re2.ts";
import { parseTracestate } from "../../runtime/tracing/trace-context.ts";
import type { UpstreamReceiver } from "../../runtime/upstreams/transport-types.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { anonymous, asAlice, asUser, toolCall } from "../support/facts.ts";
import { mayStall } from "../support/stall-limit.ts";
import { unitsOf } from "../support/work.ts";

const MANY = 100_000;
const many = <T>(make: (index: number) => T, length = MANY): T[] => Array.from({ length }, (_, index) => make(index));

/** Prepared outside the measurement. */
type Prepare = () => () => unknown;

const WORK: readonly (readonly [what: string, mostUnits: number, prepare: Prepare])[] = [
  [
    "a client certificate with 20,000 names",
    20,
    () => {
      const dns = many(() => "a", 20_000);
      const shown = new X509Certificate(makeTestCertificate({ name: "many", dns }).cert);
      return () => [certificateFacts(shown, false), certificateFacts(shown, true)];
    },
  ],
  [
    "a tracestate with 8,000 blanks in the middle of a member",
    10,
    () => {
      const values = [`a=b${" ".repeat(8000)}c`];
      return () => expect(parseTracestate(values)).toBe("");
    },
  ],
  [
    "a simulated user with 100,000 claims",
    20,
    () => {
      const route = explainedRoute({ key: "a/b", doc: { from: "https://a.example", to: "http://b" } });
      const question = { user: "a", email: "a@b.c", groups: "", method: "GET", path: "/" };
      const claim = many((index) => `a=${index}`);
      return () => readQuestion({ ...question, claim }, route);
    },
  ],
  [
    "a call whose text of 1 MiB 5,000 rules look through for a part of 1,000 characters",
    800,
    () => {
      const part = `${"a".repeat(500)}b${"a".repeat(499)}`;
      const policy = compilePolicy({
        deny: { or: many((index) => argument({ argument: "/q", contains: part + index }), 5000) },
      });
      const json = JSON.stringify({ q: "a".repeat(2 ** 20) });
      return () => evaluate(policy, called(json));
    },
  ],
  [
    "a text of 100,000 characters that has none of a part of 50,000",
    20,
    () => {
      const matches = compileContains(`${"a".repeat(25_000)}b${"a".repeat(25_000)}`);
      return () => matches("a".repeat(MANY));
    },
  ],
  [
    "a call with a list of 100,000 texts, and as many patterns as a policy may have",
    40,
    () => {
      const rules = many((index) => argument({ argument: "/q", some: { matches: `${index}` } }), 400);
      expect(parsePolicy({ deny: { or: rules } })).toMatchObject({ ok: true });
      const policy = compilePolicy({ deny: { or: rules } });
      const json = JSON.stringify({ q: many(() => "") });
      return () => evaluate(policy, called(json));
    },
  ],
  [
    "a call with 100,000 numbers, each one of 100,000",
    100,
    () => {
      const list = many((index) => index);
      const policy = compilePolicy({ deny: { or: [argument({ argument: "/q", every: { in: list } })] } });
      const json = JSON.stringify({ q: list });
      return () => evaluate(policy, called(json));
    },
  ],
  [
    "a call of 1 MiB with numbers that 5,000 rules read exactly",
    400,
    () => {
      const policy = compilePolicy({
        deny: { or: many((index) => argument({ argument: `/n/${index}`, gt: 1 }), 5000) },
      });
      const json = JSON.stringify({ q: "a".repeat(2 ** 20), n: many(() => 0, 5000) });
      return () =>
        evaluate(
          policy,
          called(json.replaceAll("[0,", "[12345678901234567890,").replaceAll(",0", ",12345678901234567890")),
        );
    },
  ],
  [
    "a user with 10,000 groups and a claim as long, against 5,000 rules",
    20,
    () => {
      const names = many((index) => `group-${index}`, 10_000);
      const rules = many(
        (index) => (index % 2 === 0 ? { groups: `other-${index}` } : { "claim/roles": `x${index}` }),
        5000,
      );
      const policy = compilePolicy({ allow: { or: rules } });
      const facts = asUser({ groups: names, claims: { roles: names } });
      return () => evaluate(policy, facts);
    },
  ],
  [
    "the page that says why a user with 10,000 groups is refused by 5,000 rules",
    100,
    () => {
      const policy = compilePolicy({ allow: { or: many((index) => ({ groups: `other-${index}` }), 5000) } });
      const facts = asUser({ groups: many((index) => `group-${index}`, 10_000) });
      return () => denialDetails(policy, facts);
    },
  ],
  [
    "a list of 10,000 tools against 5,000 rules",
    400,
    () => {
      const deny = { or: many((index) => ({ mcp_tool: `x${index}` }), 4999) };
      const policy = compilePolicy({ allow: { and: [{ authenticated_user: true }] }, deny });
      const exchange = { id: "r" };
      const context = { exchange, prepared: { route: { key: "a/b", policy } }, principal: { user: asAlice().user } };
      const items = many((index) => ({ kind: "tool", name: `t${index}` }) as const, 10_000);
      return () => {
        const warn = vi.fn<() => void>();
        const keeps = keepsFor({ log: { warn } } as never, context as never)();
        expect(items.filter(keeps)).toHaveLength(400);
        // Not in silence, and not for each of them.
        expect(warn).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ route: "a/b" }), expect.any(String));
      };
    },
  ],
  [
    "settings with a block of 50,000 members",
    800,
    () => {
      const members = Object.fromEntries(many((index) => [`x-name-${index}`, "v"], 50_000));
      const slice = (): ReadSlice =>
        ({ boot: {}, settings: { set_response_headers: members }, settingsPath: [], report() {} }) as never;
      return () => mergeSettings([slice(), slice()]);
    },
  ],
  [
    "an address against 100,000 ranges",
    20,
    () => {
      const list = many((index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
      const policy = compilePolicy({ allow: { and: [{ source_ip: list }] } });
      return () => evaluate(policy, anonymous());
    },
  ],
  [
    "a policy that names 5,000 claims, and values in lists of 10,000",
    400,
    () => {
      const texts = many((index) => `a${index}@example.com`, 10_000);
      const rules = [
        ...many((index) => ({ [`claim/${index}`]: "x" }), 4990),
        { email: { in: texts } },
        { email: { not_in: texts } },
      ];
      return () => validatePolicy({ allow: { and: rules } });
    },
  ],
  [
    "a policy with 40,000 criteria",
    20,
    () => {
      const rules = many((index) => ({ email: `a${index}@example.com` }), 40_000);
      return () => parsePolicy({ allow: { or: rules } });
    },
  ],
  [
    "patterns that would become a million instructions",
    20,
    () => () => {
      for (let index = 0; index < 100; index += 1) expect(() => parsePattern("(?:x{0,1000})".repeat(70))).toThrow();
    },
  ],
  [
    "2,500 heavy patterns of a policy, when they are compiled for requests",
    500,
    () => {
      const rules = many((index) => argument({ argument: "/q", matches: heavy(index) }), 2500);
      return () => compilePolicy({ deny: { or: rules } });
    },
  ],
  [
    "a record of a call, where 5,000 tools and 5,000 arguments of all tools are declared",
    100,
    () => {
      const omit = Object.fromEntries(many((index) => [`t${index}`, ["/a"]], 5000));
      const digest = { "*": many((index) => `/a${index}`, 5000) };
      return () => createRedactor({ key: KEY }).lineMembers({ digest, omit }, "t1", '{"a":1}');
    },
  ],
  [
    "a record of a call whose 5,000 names are declared in another spelling, above 5,000 others",
    50,
    () => {
      const redactor = createRedactor({ key: KEY });
      const declared = { omit: { t: many((index) => `/${"a".repeat(13)}/k${index}`, 5000) } };
      const json = JSON.stringify(Object.fromEntries(many((index) => [spelling(index + 1), 1], 5000)));
      return () => redactor.lineMembers(declared, "t", json);
    },
  ],
  [
    "a call of 100,000 values whose numbers are kept as they are written",
    400,
    () => {
      const json = JSON.stringify(many((index) => index));
      return () => parseVerbatim(json);
    },
  ],
  [
    "10,000 response headers of a route, and as many of the settings",
    50,
    () => {
      const names = many((index) => `x-${index}`, 10_000);
      const set_response_headers = Object.fromEntries(names.map((name) => [name, "v"]));
      const setResponseHeaders = names.map((name) => [`${name}-of-all`, "v"] as const);
      return () => compileResponseHeaders({ set_response_headers }, { setResponseHeaders });
    },
  ],
  [
    "a MiB of blank lines in an event stream",
    100,
    () => {
      const chunk = Buffer.alloc(2 ** 20, "\n");
      return () => new EventBlocks(2 ** 23).push(chunk);
    },
  ],
  [
    "an event of 8 MiB in a stream that tells of changes",
    150,
    () => {
      const event = (text: string): Buffer => Buffer.from(`data: {"jsonrpc":"2.0",${text}}\n\n`);
      const large = `"params":{"uri":"a","x":[${"[],".repeat(2_700_000)}1]}`;
      const [result, update] = [
        event(`"id":1,"result":{"text":"${"a".repeat(70_000)}"}`),
        event(`"method":"notifications/resources/updated",${large}`),
      ];
      const { reader, heard } = streamReader();
      return () => {
        reader.onData(result);
        // It passes, unlike a change that is too large.
        if (heard() !== result.length) throw new Error("a large result must be heard");
        reader.onData(update);
        if (heard() !== 0) throw new Error("a large change must not be heard");
      };
    },
  ],
  [
    "an event of 1 MiB that confirms 100,000 tasks",
    150,
    () => {
      const params = { notifications: { taskIds: many(String) } };
      const bytes = Buffer.from(JSON.stringify({ method: "notifications/subscriptions/acknowledged", params }));
      const ids = createTaskIds({ keys: createKeys([Buffer.from(KEY)]) });
      const binding = { userId: "u", clientId: "c", route: "a/b" };
      return () => sealTasks(bytes, (id) => ids.seal({ id, tool: "" }, binding));
    },
  ],
];

/** On a stream opened by GET, of a route with tool rules. */
function streamReader(): { readonly reader: UpstreamReceiver; readonly heard: () => number } {
  let bytes = 0;
  const next = {
    onHead() {},
    onData: (chunk: Buffer) => void (bytes += chunk.length),
    onEnd() {},
    onFailure() {},
  };
  const route = { key: "a/b", policy: compilePolicy({ allow: { and: [{ mcp_tool: { is: "read" } }] } }) };
  const exchange = { method: "GET", onClose() {} };
  const context = { exchange, prepared: { route }, facts: asAlice() } as unknown as RequestContext;
  const changes = { follow: () => () => {} } as unknown as ListChanges;
  const reader = streamReaderFor(changes, context, next, {} as StreamReceiver, {} as ListReceiver);
  reader.onHead(200, ["content-type", "text/event-stream"]);
  return {
    reader,
    heard() {
      const before = bytes;
      bytes = 0;
      return before;
    },
  };
}

const KEY = new Uint8Array(32);

/** One of 8,192 spellings of thirteen letters "a", in upper and lower case. */
function spelling(index: number): string {
  return Array.from({ length: 13 }, (_, at) => ((index >> at) & 1 ? "A" : "a")).join("");
}

/** Criterion for one tool. */
function argument(match: object): CriterionDoc {
  return { mcp_tool_argument: { tool: "write", ...match } };
}

function called(json: string): Facts {
  return asAlice({ ...toolCall("write"), arguments: readArguments(() => json) });
}

function heavy(index: number): string {
  return `(?:[a-z]{1,30}[0-9a-z]{1,30}){1,6}!${index}`;
}

test.each(WORK)("%s", (_, mostUnits, prepare) => {
  // Preparing it may take longer than the work itself.
  mayStall(Infinity);
  expect(unitsOf(prepare(), mostUnits)).toBeLessThan(mostUnits);
});

/** Where work is cheap enough that a bound which is gone would not show in it. */
test.each([
  ["claims in a simulator's question", 1000, (count: number) => asks({ claim: many(() => "a=1", count) })],
  ["groups in a simulator's question", 1000, (count: number) => asks({ groups: many(() => "a", count).join(",") })],
  ["characters in a simulator's question", 65_536, (count: number) => asks({ path: "/".padEnd(count - 9, "a") })],
  ["wrong address ranges", 101, (count: number) => wrongRanges(count) === count],
])("%s: %i are accepted, and no more", (_, most, isWhole) => {
  expect([isWhole(most), isWhole(most + 1)]).toEqual([true, false]);
});

function asks(more: object): boolean {
  const route = explainedRoute({ key: "a/b", doc: { from: "https://a.example", to: "http://b" } });
  return readQuestion({ user: "a", email: "a@b.c", groups: "", method: "GET", path: "/", ...more }, route).ok;
}

function wrongRanges(count: number): number {
  let reported = 0;
  parseRanges(
    many(() => "none", count),
    "source_ip",
    () => (reported += 1),
  );
  return reported;
}
