/**
 * A record that a running gateway wrote, decided again: under the same configuration nothing changes, under another one the
 * verdict is what a gateway gives that runs it. Over random policies, users and calls.
 */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { readLogLine } from "../../../../runtime/audit/log-line.ts";
import { createDigests } from "../../../../runtime/audit/replay/digests.ts";
import { readRecord, type RecordedCheck } from "../../../../runtime/audit/replay/read-record.ts";
import { createVocabulary } from "../../../../runtime/audit/replay/vocabulary.ts";
import { createReplayWriter } from "../../../../runtime/audit/replay/write-facts.ts";
import { loadSlices } from "../../../../runtime/config/load.ts";
import { OPERATORS, type CriterionDoc, type RulesDoc } from "../../../../runtime/policy/parse.ts";
import { OUTCOMES } from "../../../../runtime/policy/shadow.ts";
import { decideAgain } from "../../../../runtime/tools/replay/decide-again.ts";
import { createReplayRoutes } from "../../../../runtime/tools/replay/routes.ts";
import { checkedFrom } from "../../../support/config.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { sendRaw } from "../../../support/raw-client.ts";
import { startScriptedMembers } from "../../../support/scripted-members.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";

const KEY = Buffer.alloc(32, 5);
const replay = createReplayWriter({ key: KEY, asksForCertificates: false });

let victim: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  victim = await startVictim((_, socket) => void socket.write("HTTP/1.1 204 No Content\r\n\r\n"));
  pipeline = await startPipeline(yamlOf([], []), { replay });
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

function yamlOf(web: readonly RulesDoc[], mcp: readonly RulesDoc[], prefix = "/"): string {
  const settings = {
    runtime_flags: { mcp: true },
    authenticate_service_url: "https://auth.example",
    authorize_log_fields: ["request-id", "replay"],
    routes: [
      { from: "https://app.example", to: victim.origin, prefix, policy: web },
      {
        from: "https://mcp.example",
        to: victim.origin,
        mcp: { server: { record_arguments: { plain: { pay: ["/amount"] } } } },
        policy: mcp,
      },
    ],
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join("\n");
}

const everywhere: readonly CriterionDoc[] = [
  { accept: true },
  { authenticated_user: true },
  { email: { starts_with: "alice@" } },
  { user: "bob" },
  { domain: "example.com" },
  { groups: "admins" },
  { "claim/department": "research" },
  { "claim/sub": { exclude: "bob" } },
  { http_method: { in: ["GET", "POST"] } },
  { source_ip: "127.0.0.0/8" },
];
const ofWeb: readonly CriterionDoc[] = [
  ...everywhere,
  { http_path: { starts_with: "/a" } },
  { http_path: { is: "/a/b" } },
  { cors_preflight: true },
  { device: { approved: true } },
];
const ofMcp: readonly CriterionDoc[] = [
  ...everywhere,
  { mcp_tool: { in: ["pay", "read"] } },
  { mcp_method: { starts_with: "tools/" } },
  { mcp_prompt: "ask" },
  { mcp_resource: { starts_with: "file:///srv/" } },
  { mcp_tool_argument: { tool: "pay", argument: "/to", in: ["alice", "bob"] } },
  { mcp_tool_argument: { tool: "pay", argument: "/to", exists: false } },
  { mcp_tool_argument: { tool: "pay", argument: "/amount", lte: 500 } },
  { mcp_tool_argument: { tool: "pay", argument: "/id", is: 9_007_199_254_740_991 } },
];
const policy = (criteria: readonly CriterionDoc[]): fc.Arbitrary<readonly RulesDoc[]> => {
  const some = fc.array(fc.constantFrom(...criteria), { minLength: 1, maxLength: 3 });
  const action = fc.tuple(fc.constantFrom(...OPERATORS), some).map(([name, list]) => ({ [name]: list }));
  return fc.tuple(action, fc.option(action)).map(([allow, deny]) => [{ allow }, ...(deny ? [{ deny }] : [])]);
};

const approves: readonly RulesDoc[] = [
  { approve: { and: [{ mcp_tool: "read" }] } },
  { approve: { nor: [{ mcp_tool_argument: { tool: "pay", argument: "/to", is: "alice" } }] }, approvers: ["admins"] },
];

const call = (tool: string, given: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${given}}}`;
const ask = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

const WHO = ["alice", "bob", "UNKNOWN", undefined];
const WEB_LINES = ["GET /", "GET /a", "GET /a/b", "DELETE /a", "GET /a;x", "OPTIONS /a"];
const MESSAGES = [
  undefined,
  ask("initialize", {}),
  ask("tools/list", {}),
  ask("prompts/get", { name: "ask" }),
  ask("resources/read", { uri: "file:///srv/x" }),
  ask("resources/read", { uri: "file:///srv/%2e%2e/x" }),
  call("read", "{}"),
  call("pay", "{}"),
  call("pay", '{"to":"alice","amount":500.0,"id":9007199254740991}'),
  call("pay", '{"to":"carol","amount":500.01,"id":9007199254740992}'),
  call("pay", '{"To":"alice","amount":"9","id":9007199254740993}'),
  call("pay", '{"to":["bob"],"amount":1e9999999}'),
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","name":"read"}}',
];

/** The same requests one after the other; the records of them. */
async function records(): Promise<readonly RecordedCheck[]> {
  const before = pipeline.records.length;
  for (const who of WHO) {
    for (const line of WEB_LINES)
      await send([
        `${line} HTTP/1.1`,
        "Host: app.example",
        ...(who === undefined ? [] : [`Cookie: gateway_session=${who}`]),
        ...(line.startsWith("OPTIONS") ? ["Origin: https://other.example", "Access-Control-Request-Method: GET"] : []),
      ]);
    for (const message of MESSAGES)
      await send(
        [
          `${message === undefined ? "GET" : "POST"} / HTTP/1.1`,
          "Host: mcp.example",
          "Accept: application/json, text/event-stream",
          ...(who === undefined ? [] : [`Authorization: Bearer gwt_${who}`]),
          ...(message === undefined
            ? []
            : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(message)}`]),
        ],
        message,
      );
  }
  return pipeline.records.slice(before).map((record) => {
    const read = readRecord(readLogLine(Buffer.from(JSON.stringify(record))));
    if (read.kind !== "check") throw new Error(JSON.stringify(read));
    return read.check;
  });
}

async function send(head: readonly string[], body = ""): Promise<void> {
  await sendRaw(pipeline.port, [...head, "Connection: close", "", body].join("\r\n"));
}

function again(checks: readonly RecordedCheck[], yaml: string) {
  const vocabulary = createVocabulary(createDigests(KEY));
  const routes = createReplayRoutes(checkedFrom(yaml), vocabulary);
  return checks.map((check) => decideAgain(check, { routes, vocabulary, asksForCertificates: false }).change);
}

/** Some policies can never hold, and are refused. */
function isGood(yaml: string): boolean {
  return loadSlices([{ file: "gateway.yaml", text: yaml, boot: true }]).config !== undefined;
}

test("records of a running gateway are decided again as it would decide them", async () => {
  const approve = fc.option(fc.constantFrom(...approves));
  const configurations = fc
    .sample(fc.tuple(policy(ofWeb), policy(ofMcp), approve), { seed: 7, numRuns: 60 })
    .map(([web, mcp, asked]) => yamlOf(web, asked ? [...mcp, asked] : mcp))
    .filter(isGood)
    .slice(0, 10);
  const asked = WHO.length * (WEB_LINES.length + MESSAGES.length);
  const runs: { readonly yaml: string; readonly checks: readonly RecordedCheck[] }[] = [];
  expect(configurations).toHaveLength(10);
  for (const yaml of configurations) {
    pipeline.swap(yaml);
    const checks = await records();
    expect(checks).toHaveLength(asked);
    runs.push({ yaml, checks });
  }
  const seen = new Set<string>();
  for (const before of runs) {
    for (const after of runs) {
      for (const [index, change] of again(before.checks, after.yaml).entries()) {
        const [was = -1, is = -1] = [before, after].map(({ checks }) =>
          OUTCOMES.indexOf(checks[index]?.outcome ?? "deny"),
        );
        const expected = was === is ? "same" : is > was ? "gains" : "loses";
        // What was refused before any policy is refused again; that is no change either.
        const found = change === "refused" ? "same" : change;
        if (found !== expected) expect({ found, before: before.yaml, after: after.yaml, index }).toBe(expected);
        seen.add(change);
      }
    }
  }
  expect(new Set(runs.flatMap(({ checks }) => checks.map(({ outcome }) => outcome))).size).toBe(3);
  expect([...seen].toSorted()).toEqual(["gains", "loses", "refused", "same"]);
});

test("distinguishes a request without a route, MCP turned off, and a route of another kind", async () => {
  const all: readonly RulesDoc[] = [{ allow: { and: [{ accept: true }] } }];
  pipeline.swap(yamlOf(all, all));
  const checks = await records();
  const requests = checks.map(({ request }) =>
    typeof request === "string" ? request : `${request.host}${request.path}`,
  );
  const changes = (yaml: string) => new Set(again(checks, yaml).map((change, index) => `${requests[index]} ${change}`));
  const narrower = changes(yamlOf(all, all, "/a"));
  expect(narrower).toContain("app.example/ loses");
  expect(narrower).toContain("app.example/a same");
  expect(changes(yamlOf(all, all).replace('"mcp":true', '"mcp":false'))).toContain("mcp.example/ loses");
  const web = changes(yamlOf(all, all).replace(/,"mcp":\{"server":.*?\}\}\}\}/, ""));
  expect(web).toContain("mcp.example/ undecidable");
  expect(web).not.toContain("mcp.example/ same");
});

test("a federated call is decided again by its member's policy, under the name of its member", async () => {
  const members = await startScriptedMembers();
  const allow = { allow: { and: [{ domain: "example.com" }] } };
  const deny = (tool: string) => ({ deny: { and: [{ mcp_tool: tool }] } });
  interface Rules {
    readonly all?: readonly object[];
    readonly one?: readonly object[];
    readonly path?: string;
    readonly members?: object;
    readonly name?: string;
    readonly labels?: readonly string[];
  }
  const configured = ({ all = [], one = [], path = "/one", name = "all", labels, ...rest }: Rules): string => {
    const server = labels ? { members_by_label: labels } : { members: rest.members ?? { one: "one", two: "two" } };
    const route = (its: string, prefix: string, own: object, rules: readonly object[]) => {
      return { name: its, from: "https://all.example", prefix, ...own, policy: [allow, ...rules] };
    };
    const of = (label: string) => ({ to: members.origin, mcp: { server: { labels: [label] } } });
    const settings = {
      runtime_flags: { mcp: true },
      authenticate_service_url: "https://auth.example",
      authorize_log_fields: ["request-id", "replay"],
      routes: [
        route(name, "/all", { mcp: { server } }, all),
        route("one", path, of("first"), one),
        route("two", "/two", of("second"), [deny("t0")]),
      ],
    };
    return Object.entries(settings)
      .map(([setting, value]) => `${setting}: ${JSON.stringify(value)}`)
      .join("\n");
  };
  pipeline.swap(configured({ one: [deny("t1")] }));
  const before = pipeline.records.length;
  for (const tool of ["", "one__t0", "one__t1", "two__t0"]) {
    const body = tool === "" ? ask("tools/list", {}) : call(tool, "{}");
    const head = ["POST /all HTTP/1.1", "Host: all.example", "Authorization: Bearer gwt_alice"];
    const more = ["Content-Type: application/json", "Accept: application/json", `Content-Length: ${body.length}`];
    await send([...head, ...more], body);
  }
  const checks = pipeline.records
    .slice(before)
    .map((record) => {
      const read = readRecord(readLogLine(Buffer.from(JSON.stringify(record))));
      if (read.kind !== "check") throw new Error(JSON.stringify(read));
      return read.check;
    })
    .filter(({ request }) => typeof request !== "string" && request.mcp?.method?.startsWith("tools/") === true);
  const told = (rules: Rules) => {
    const changes = again(checks, configured(rules));
    return Object.fromEntries(
      checks.map(({ federated, request }, index) => {
        const { path = "", mcp } = typeof request === "string" ? {} : request;
        return [[path, federated?.name, mcp?.tool].filter(Boolean).join(" "), changes[index]];
      }),
    );
  };
  const same = {
    "/all": "same",
    "/one": "same",
    "/two": "same",
    "/all one__t0": "same",
    "/one one__t0 t0": "same",
    "/all one__t1": "same",
    "/one one__t1 t1": "same",
    "/all two__t0": "same",
    "/two two__t0 t0": "same",
  };
  const one = [deny("t1")];
  expect(told({ one })).toEqual(same);
  expect(told({ one: [deny("t0")] })).toEqual({ ...same, "/one one__t0 t0": "loses", "/one one__t1 t1": "gains" });
  expect(told({ one, all: [deny("one__t0")] })).toEqual({ ...same, "/all one__t0": "loses" });
  // Its own address does not matter where the name of a tool tells the member.
  expect(told({ one, path: "/elsewhere" })).toEqual({ ...same, "/one": "loses" });
  // The member is gone.
  const gone = { ...same, "/one": "loses", "/one one__t0 t0": "loses" };
  expect(told({ one, members: { two: "two" } })).toEqual(gone);
  expect(told({ one, labels: ["second"] })).toEqual(gone);
  // Another server behind the same name.
  expect(told({ one, members: { one: "two", two: "one" } })).toEqual({
    ...same,
    "/one one__t0 t0": "loses",
    "/one one__t1 t1": "gains",
    "/two two__t0 t0": "gains",
  });
  const unknown = Object.entries(same).map(([name]) => [name, name.startsWith("/all") ? "same" : "undecidable"]);
  expect(told({ one, name: "other" })).toEqual(Object.fromEntries(unknown));
  members.close();
});

test("without the field a record is byte for byte what it was", async () => {
  const all: readonly RulesDoc[] = [{ allow: { and: [{ accept: true }] } }];
  pipeline.swap(yamlOf(all, all).replace(',"replay"', ""));
  const before = pipeline.records.length;
  await records();
  const lines = pipeline.records.slice(before).map((record) => Object.keys(record));
  expect(new Set(lines.flat())).not.toContain("replay");
});
