/** Records in the forms of others: OCSF by a table of what it requires, OpenTelemetry by a receiver. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { formatAction } from "../../../runtime/audit/action-record.ts";
import { formatOutcome } from "../../../runtime/audit/outcome-record.ts";
import { formatRecord, RECORD_FIELDS, type RecordInput } from "../../../runtime/audit/record.ts";
import { formatOcsf } from "../../../runtime/record-sinks/formats/ocsf.ts";
import { formatSyslog } from "../../../runtime/record-sinks/formats/syslog.ts";
import { isRecord, type Members } from "../../../runtime/shared/is-record.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { makeSpool, openTestSink, sinkOptions } from "../../support/record-sinks.ts";

const parse = (line: string): Members => JSON.parse(line) as Members;
const TIME = Date.parse("2026-11-23T10:00:00.123Z");

const INPUT: RecordInput = {
  timeMs: TIME,
  decision: {
    allowed: true,
    denied: false,
    allowWhyTrue: ["user-ok"],
    allowWhyFalse: [],
    denyWhyTrue: [],
    denyWhyFalse: [],
  },
  requestId: "req-1",
  traceId: "0af7651916cd43dd8448eb211c80319c",
  bundleDigest: "sha256:abc",
  route: "team-a/notes",
  http: { method: "POST", path: "/mcp", host: "notes.example.com", ip: "203.0.113.7" },
  user: { id: "alice", email: "alice@example.com" },
  grantId: "grant-1",
  clientId: "https://client.example.com/app",
  mcp: { method: "tools/call", tool: "add" },
  rule: "/0/allow",
};
const check = (more: object = {}, place: object = {}): Members => ({
  ...parse(formatRecord(RECORD_FIELDS, { ...INPUT, ...more })),
  ...place,
});
const denied = { ...INPUT.decision, allowed: false, allowWhyTrue: [], allowWhyFalse: ["user-unauthorized"] };

const RECORDS: Readonly<Record<string, Members>> = {
  "an allowed call": check({}, { instance: "gateway.1", seq: 17 }),
  "a denied one": check({ decision: denied }),
  "one that waits for an approval": check({ decision: denied, approval: { state: "waiting", id: "a", by: undefined } }),
  "an approved one": check({ approval: { state: "approved", id: "a", by: "bob" } }),
  "one over a limit": check({ limited: { limit: "all", retryAfterMs: 5 } }),
  "a request of nobody": check({ user: undefined, grantId: undefined, clientId: undefined, mcp: undefined }),
  "the least record": parse(formatRecord([], { ...INPUT, decision: denied })),
  "an action": parse(
    formatAction(TIME, "id-1", {
      action: "publish",
      by: "root@host",
      target: "slice team-a",
      before: "sha256:1",
      after: "sha256:2",
      reason: "ticket 5",
    }),
  ),
  "an action of nothing": { message: "administrative action" },
  "an outcome": parse(
    formatOutcome({
      timeMs: TIME,
      of: 17,
      requestId: "req-1",
      status: 502,
      failedBy: "upstream",
      failure: "refused",
      durationMs: 12.5,
      lists: undefined,
    }),
  ),
  "a gap": { level: "error", time: "2026-11-23T10:00:00.123Z", message: "record gap", lost: 5 },
  "something without anything": {},
};

/**
 * What OCSF requires (1.1 to 1.9-dev, events/… and objects/… of its schema, `requirement` and `constraints`): members by
 * class, and of objects wherever they stand.
 */
const BASE = ["activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time", "metadata"];
const OF_CLASS: Readonly<Record<number, { readonly category: number; readonly members: readonly string[] }>> = {
  6003: { category: 6, members: [...BASE, "actor", "api", "src_endpoint"] },
  3004: { category: 3, members: [...BASE, "entity"] },
  0: { category: 0, members: BASE },
};
const OF_OBJECT: Readonly<Record<string, readonly string[]>> = {
  metadata: ["product", "version"],
  product: ["name", "vendor_name"],
  api: ["operation"],
  request: ["uid"],
};
const ANY_OF: Readonly<Record<string, readonly string[]>> = {
  actor: ["process", "user", "iam_role", "invoked_by", "session", "app_name", "app_uid"],
  user: ["account", "name", "uid"],
  src_endpoint: [
    "ip",
    "uid",
    "name",
    "hostname",
    "svc_name",
    "instance_uid",
    "interface_uid",
    "interface_name",
    "domain",
  ],
  dst_endpoint: [
    "ip",
    "uid",
    "name",
    "hostname",
    "svc_name",
    "instance_uid",
    "interface_uid",
    "interface_name",
    "domain",
  ],
  url: ["url_string", "path"],
  entity: ["name", "uid", "device", "group", "org", "policy", "user"],
  entity_result: ["name", "uid", "device", "group", "org", "policy", "user"],
  policy: ["name", "type", "uid"],
  service: ["name", "uid"],
};
const ENUMS: Readonly<Record<string, readonly number[]>> = {
  activity_id: [0, 1, 2, 3, 4, 99],
  severity_id: [0, 1, 2, 3, 4, 5, 6, 99],
  status_id: [0, 1, 2, 99],
  action_id: [0, 1, 2, 3, 4, 99],
  disposition_id: [...Array.from({ length: 28 }, (_, id) => id), 99],
};

/** What is wrong with an event. */
function problemsOf(event: Members): string[] {
  const problems: string[] = [];
  const lacks = (where: string, value: Members, members: readonly string[]): void => {
    for (const name of members) if (value[name] === undefined) problems.push(`${where} has no ${name}`);
  };
  const uid = Number(event["class_uid"]);
  const known = OF_CLASS[uid];
  if (!known) return [`${uid} is no class`];
  lacks("event", event, known.members);
  if (event["category_uid"] !== known.category) problems.push("category");
  if (event["type_uid"] !== uid * 100 + Number(event["activity_id"])) problems.push("type_uid");
  if (!Number.isSafeInteger(event["time"])) problems.push("time");
  const walk = (name: string, value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) walk(name, each);
    if (value === null) problems.push(`${name} is null`);
    if (typeof value === "number" && ENUMS[name]?.includes(value) === false) problems.push(`${name} is ${value}`);
    if (!isRecord(value)) return;
    lacks(name, value, OF_OBJECT[name] ?? []);
    const one = ANY_OF[name];
    if (one && !one.some((member) => value[member] !== undefined)) problems.push(`${name} has none of ${one.join()}`);
    // What has no place in the schema may be anything.
    for (const [member, each] of Object.entries(value)) if (member !== "unmapped") walk(member, each);
  };
  walk("event", event);
  return problems;
}

describe("formatOcsf()", () => {
  test.each(Object.entries(RECORDS))("makes a valid event of %s, with all of it", (_, record) => {
    const event = formatOcsf(record, "1.2.3");
    expect(problemsOf(event)).toEqual([]);
    expect(event["unmapped"]).toEqual(record);
  });

  test("the table finds missing members", () => {
    const event = formatOcsf(RECORDS["an allowed call"] ?? {}, "1");
    expect(
      problemsOf({ ...event, api: {}, actor: { groups: [] }, type_uid: 1, severity_id: 9, src_endpoint: undefined }),
    ).toEqual([
      "event has no src_endpoint",
      "type_uid",
      "severity_id is 9",
      "actor has none of process,user,iam_role,invoked_by,session,app_name,app_uid",
      "api has no operation",
    ]);
  });

  test("describes a call: user, tool, source, decision and policy", () => {
    expect(formatOcsf(RECORDS["an allowed call"] ?? {}, "1.2.3")).toMatchObject({
      class_uid: 6003,
      type_uid: 600_399,
      time: TIME,
      severity_id: 1,
      status_id: 1,
      metadata: {
        version: "1.5.0",
        product: { name: "Gateform", version: "1.2.3" },
        profiles: ["security_control"],
        uid: "gateway.1/17",
        correlation_uid: "req-1",
      },
      actor: {
        user: { uid: "alice", email_addr: "alice@example.com" },
        app_uid: "https://client.example.com/app",
        session: { uid: "grant-1" },
      },
      api: { operation: "tools/call", service: { name: "team-a/notes" } },
      src_endpoint: { ip: "203.0.113.7" },
      resources: [{ name: "add" }],
      action_id: 1,
      disposition_id: 1,
      authorizations: [{ decision: "allowed", policy: { uid: "/0/allow", version: "sha256:abc" } }],
    });
  });

  test.each([
    [
      "a denied one",
      { status_id: 2, severity_id: 2, action_id: 2, disposition_id: 2, status_detail: "user-unauthorized" },
    ],
    ["one that waits for an approval", { action_id: 99, disposition_id: 14 }],
    ["an approved one", { action_id: 1, disposition_id: 8 }],
    ["one over a limit", { status_id: 2, action_id: 2, disposition_id: 25 }],
    ["a request of nobody", { actor: { app_name: "anonymous" }, activity_id: 1 }],
    ["an outcome", { class_uid: 0, status_id: 2, status_code: "502", duration: 13 }],
    ["a gap", { class_uid: 0, severity_id: 4 }],
    [
      "an action",
      {
        class_uid: 3004,
        activity_id: 3,
        actor: { user: { uid: "root@host" } },
        entity: { type: "slice", name: "team-a", version: "sha256:1" },
        entity_result: { version: "sha256:2" },
        comment: "ticket 5",
      },
    ],
  ])("%s", (name, expected) => {
    expect(formatOcsf(RECORDS[name] ?? {}, "1")).toMatchObject(expected);
  });
});

describe("OpenTelemetry logs", () => {
  let receiver: OtlpReceiver;
  beforeAll(async () => void (receiver = await startOtlpReceiver()));
  afterAll(() => receiver.close());

  const open = () => {
    const headers = new Map([["x-api-key", "k"]]);
    const target = { kind: "otlp", url: receiver.logsEndpoint, headers } as const;
    return openTestSink(sinkOptions(makeSpool(), target, { serviceName: "edge" }));
  };

  test("have the record as their body, attributes by the conventions, and the trace", async () => {
    const { sink } = open();
    const odd = { message: "odd", float: 1.5, big: 2 ** 60, nil: null, deep: [{ a: [true] }] };
    sink.take([...Object.values(RECORDS), odd].map((value) => ({ value })));
    const count = Object.keys(RECORDS).length + 1;
    await expect.poll(() => receiver.logs.length).toBe(count);
    expect(receiver.logs.map(({ body }) => body)).toEqual([...Object.values(RECORDS), odd]);
    expect(receiver.logs[0]).toMatchObject({
      timeMs: TIME,
      severity: 9,
      eventName: "gateform.authorize_check",
      traceId: "0af7651916cd43dd8448eb211c80319c",
      attributes: {
        "user.id": "alice",
        "client.address": "203.0.113.7",
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "add",
        "gen_ai.operation.name": "execute_tool",
        "gateform.allowed": true,
        "gateform.reasons": ["user-ok"],
        "gateform.seq": 17,
      },
    });
    expect(receiver.logs[1]).toMatchObject({
      attributes: { "gateform.allowed": false, "gateform.reasons": ["user-unauthorized"] },
    });
    expect(receiver.services.at(-1)).toBe("edge");
    expect(receiver.headers.at(-1)).toMatchObject({ "content-type": "application/json", "x-api-key": "k" });
    expect(sink.status()).toMatchObject({ kind: "otlp", lost: 0 });
  });

  test("that the receiver rejects permanently are not sent again, and reported", async () => {
    const before = receiver.logs.length;
    receiver.logsAnswer = { partialSuccess: { rejectedLogRecords: "2", errorMessage: "no" } };
    const { sink } = open();
    sink.take([{ value: { n: 1 } }, { value: { n: 2 } }, { value: { n: 3 } }]);
    const sent = (): unknown[] =>
      receiver.logs.slice(before).map(({ body }) => (body as Members)["n"] ?? (body as Members)["message"]);
    // That it rejects the record of the loss, too, is told to nobody: it would have no end.
    await expect.poll(sent).toEqual([1, 2, 3, "record gap"]);
    await expect.poll(() => sink.status()).toMatchObject({ waiting: 0, lost: 2 });
    receiver.logsAnswer = {};
    sink.take([{ value: { n: 4 } }]);
    await expect.poll(sent).toEqual([1, 2, 3, "record gap", 4]);
    expect(sink.status().lost).toBe(2);
  });
});

test("structured data of syslog has nothing in it that a terminal or log viewer would obey", () => {
  const identity = { hostname: "h", appName: "gateway", pid: 1 };
  const record = { message: "authorize check", "mcp-tool": "a\n<13>1 b\u001b[2J\u202e\u0085", list: ["\n\u2028"] };
  expect(formatSyslog(record, identity, "gateway@32473")).toBe(
    String.raw`<110>1 - h gateway 1 authorize-check [gateway@32473 message="authorize check" mcp-tool="a\\u000a<13>1 b\\u001b[2J\\u202e\\u0085" list="[\"\\n\\u2028\"\]"] authorize check`,
  );
});
