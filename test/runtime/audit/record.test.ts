import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePolicy, evaluate, refusedDecision } from "../../../runtime/policy/evaluate.ts";
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS, formatExtra, formatRecord } from "../../../runtime/audit/record.ts";
import type { RecordInput } from "../../../runtime/audit/record.ts";
import { compileShadow, decideShadow } from "../../../runtime/policy/shadow.ts";
import { alice, asAlice, plainHttp, toolCall } from "../../support/facts.ts";

const policy = compilePolicy({
  allow: { and: [{ domain: "example.com" }] },
  deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] },
});

const base: RecordInput = {
  timeMs: Date.parse("2026-11-20T17:05:09.007Z"),
  decision: evaluate(policy, asAlice(toolCall("search"))),
  requestId: "req-1",
  bundleDigest: "abc",
  route: "acme/github",
  http: plainHttp,
  user: alice,
  sessionId: "session-1",
  clientId: "client-1",
  mcp: toolCall("search"),
  toolArguments: () => '{"query":"x","n":12345678901234567890}',
};

function read(fields: readonly string[], input: RecordInput): Record<string, unknown> {
  const line = formatRecord(fields, input);
  expect(line.endsWith("}\n")).toBe(true);
  expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
  return JSON.parse(line) as Record<string, unknown>;
}

const always = {
  level: "info",
  time: "2026-11-20T17:05:09.007Z",
  service: "authorize",
  message: "authorize check",
};

describe("formatRecord()", () => {
  test("a permitted tool call, fields as by default", () => {
    expect(read(DEFAULT_RECORD_FIELDS, base)).toEqual({
      ...always,
      allow: true,
      deny: false,
      "allow-why-true": ["domain-ok", "mcp-tool-ok"],
      "allow-why-false": [],
      "deny-why-true": [],
      "deny-why-false": ["mcp-tool-ok"],
      "request-id": "req-1",
      user: "user-1",
      email: "alice@example.com",
      "mcp-method": "tools/call",
      "mcp-tool": "search",
    });
  });

  test("what candidates would have said, whatever fields are listed", () => {
    const shadow = compileShadow({ shadow_policy: { allow: { and: [{ email: "bob@example.com" }] } } });
    if (!shadow) throw new Error("Cannot test: the route has no candidate");
    const facts = asAlice(toolCall("search"));
    const input = { ...base, shadow: decideShadow(shadow, facts, base.decision) };
    expect(read([], input)["shadow"]).toEqual([
      { candidate: "shadow_policy", outcome: "deny", flip: "loses", reasons: ["email-unauthorized"] },
    ]);
    expect(read(["request-id"], input)).toMatchObject({ allow: true, deny: false });
    expect(read([...RECORD_FIELDS], base)).not.toHaveProperty("shadow");
  });

  test("a blocked tool call", () => {
    const message = toolCall("delete_repo");
    const record = read(["mcp-tool"], { ...base, decision: evaluate(policy, asAlice(message)), mcp: message });
    expect(record).toEqual({
      ...always,
      allow: false,
      deny: true,
      "allow-why-true": [],
      "allow-why-false": ["mcp-tool-unauthorized"],
      "deny-why-true": ["mcp-tool-unauthorized"],
      "deny-why-false": [],
      "mcp-tool": "delete_repo",
    });
  });

  test("tools/list and other methods have no tool, nor parameters", () => {
    const mcp = { method: "tools/list" };
    const record = read(RECORD_FIELDS, { ...base, decision: evaluate(policy, asAlice(mcp)), mcp });
    expect(record).toMatchObject({ "mcp-method": "tools/list", "deny-why-false": ["mcp-not-a-tool-call"] });
    expect(record).not.toHaveProperty("mcp-tool");
    expect(record).not.toHaveProperty("mcp-tool-parameters");
  });

  test("a request without a method of its own has an empty one; an ordinary route has none", () => {
    expect(read(["mcp-method"], { ...base, mcp: {} })).toHaveProperty("mcp-method", "");
    expect(read(["mcp-method"], { ...base, mcp: undefined })).not.toHaveProperty("mcp-method");
  });

  test("a rejected request has its own reason", () => {
    const input: RecordInput = { ...base, decision: refusedDecision("mcp-batch"), user: undefined, mcp: undefined };
    expect(read(["request-id", "user", "email"], input)).toEqual({
      ...always,
      allow: false,
      deny: false,
      "allow-why-true": [],
      "allow-why-false": ["mcp-batch"],
      "deny-why-true": [],
      "deny-why-false": [],
      "request-id": "req-1",
    });
  });

  test("only the listed fields, in a fixed order, unknown names ignored", () => {
    const line = formatRecord(["path", "nonsense", "ip", "path", "host", "method", "bundle-digest", "route"], base);
    expect(line).toMatch(
      /"bundle-digest":"abc","route":"acme\/github","method":"POST","path":"\/mcp","host":".*","ip":".*"}\n$/,
    );
    expect(Object.keys(read([], base))).toHaveLength(10);
  });

  test("every field has a value when everything is known", () => {
    const asserted = { grantId: "grant-1", issuer: "company", issuerRules: ["main"], authMethod: "id-jag" };
    const actor = { id: "workload:pods/reporter", run: "run-1", claims: {} };
    const user = { id: "u", email: "e@example.com", actor };
    const record = read(RECORD_FIELDS, { ...base, traceId: "trace-1", ...asserted, user, replay: () => "{}" });
    for (const name of RECORD_FIELDS) expect(record).toHaveProperty([name]);
  });

  test("time keeps its milliseconds across seconds", () => {
    const times = [0, 999, 1000, 59_999, 60_000].map((timeMs) => read([], { ...base, timeMs })["time"]);
    expect(times).toEqual([0, 999, 1000, 59_999, 60_000].map((timeMs) => new Date(timeMs).toISOString()));
  });
});

describe("formatRecord() mcp-tool-parameters", () => {
  const parameters = (text: string | undefined): Record<string, unknown> =>
    read(["mcp-tool-parameters"], { ...base, toolArguments: () => text });

  test("are the arguments as sent, numbers untouched", () => {
    expect(formatRecord(["mcp-tool-parameters"], base)).toContain('{"query":"x","n":12345678901234567890}}');
  });

  test("are {} when the call has none", () => {
    expect(parameters(undefined)["mcp-tool-parameters"]).toEqual({});
  });

  test("never break the line", () => {
    expect(parameters('{\n  "a": "\u2028",\r\n\t"b": "\u202e"\n}')["mcp-tool-parameters"]).toEqual({
      a: "\u2028",
      b: "\u202e",
    });
  });

  test("over the limit only their size is recorded", () => {
    const record = parameters(JSON.stringify({ text: "x".repeat(10_000) }));
    expect(record).not.toHaveProperty("mcp-tool-parameters");
    expect(record).toHaveProperty("mcp-tool-parameters-omitted", 10_011);
  });

  test("are not read if the field is disabled", () => {
    const toolArguments = (): string => {
      throw new Error("asked");
    };
    expect(read(DEFAULT_RECORD_FIELDS, { ...base, toolArguments })).toHaveProperty("mcp-tool", "search");
  });
});

describe("formatExtra()", () => {
  const all = JSON.parse(formatRecord(RECORD_FIELDS, base)) as object;
  const together = (fields: readonly string[], input: RecordInput, rule?: string): unknown =>
    JSON.parse(`${formatRecord(fields, input).slice(0, -2)}${formatExtra(fields, input, rule)}}`);

  test.each([[[]], [DEFAULT_RECORD_FIELDS], [RECORD_FIELDS], [["path", "mcp-tool-parameters"]]])(
    "has the fields that a line with %o omits",
    (fields) => expect(together(fields, base)).toEqual(all),
  );

  test("has the rule where the line has none, replay nowhere, and arguments as they were sent", () => {
    const input = { ...base, replay: () => "{}", redact: () => ',"mcp-tool-parameters-omitted":1' };
    expect(together([], input, "/0/allow/and")).toEqual({ ...all, rule: "/0/allow/and" });
  });
});

describe("formatRecord() with hostile texts", () => {
  test("one line with the same content, whatever the texts", () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(
          "\n",
          "\r",
          "\0",
          '"',
          "\\",
          "\u007f",
          "\u0085",
          "\u2028",
          "\u202e",
          "\ufeff",
          "\u00ad",
          "\u{e0020}",
        ),
        fc.string({ minLength: 1, maxLength: 1, unit: "binary" }),
      ),
    });
    fc.assert(
      fc.property(text, text, text, (user, email, tool) => {
        const record = read(["user", "email", "mcp-tool", "mcp-method"], {
          ...base,
          user: { id: user, email },
          mcp: { method: "tools/call", tool },
        });
        expect([record["user"], record["email"], record["mcp-tool"]]).toEqual([user, email, tool]);
      }),
    );
  });

  test("marks above U+FFFF are written in both their units", () => {
    const line = formatRecord(["mcp-tool"], { ...base, mcp: toolCall("a\u{e0020}b\u00ad") });
    expect(line).toContain(String.raw`"mcp-tool":"a\udb40\udc20b\u00ad"`);
  });

  test("long texts are cut", () => {
    const record = read(["path", "mcp-tool"], { ...base, mcp: toolCall("t".repeat(100_000)) });
    expect(record["mcp-tool"]).toBe(`${"t".repeat(1024)}…`);
  });
});
