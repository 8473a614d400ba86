/** Copies of records as a gateway makes them, many and different, the same for the same number. */
import type { RecordCopy } from "../../runtime/audit/record-consumer.ts";
import { formatOutcome } from "../../runtime/audit/outcome-record.ts";
import { formatRecord, RECORD_FIELDS } from "../../runtime/audit/record.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { alice, asAlice } from "./facts.ts";

const FIELDS = RECORD_FIELDS.filter((name) => name !== "replay");
const USERS = 5_000;
const ROUTES = 200;
const TOOLS = 500;

export const RARE_USER = "user-rare";
export const RARE_ROUTE = "team-rare/route-rare";

/** @returns of each number the record of its decision, and of all but few the line of its end */
export function manyCopies(): (number: number, timeMs: number) => readonly RecordCopy[] {
  const policy = compilePolicy([{ allow: { and: [{ domain: "example.com" }] } }]);
  const allowed = evaluate(policy, asAlice({}));
  const denied = evaluate(policy, { http: { method: "POST", path: "/mcp", host: "h", ip: "192.0.2.1" } });
  return (number, timeMs) => {
    const dice = scatter(number);
    const isRare = number % 100_003 === 17;
    const route = isRare ? RARE_ROUTE : `team-${(dice % ROUTES) % 20}/route-${dice % ROUTES}`;
    const user = isRare ? RARE_USER : `user-${(dice >>> 8) % USERS}`;
    const requestId = `33b650891a4666f2${number.toString(16).padStart(16, "0")}`;
    const decision = (dice >>> 4) % 33 === 0 ? denied : allowed;
    // The tool of this name is on every route but the first.
    const tool = dice % ROUTES !== 0 && dice % 7 === 0 ? "tool_never_0" : `tool_${(dice >>> 12) % TOOLS}`;
    const line = formatRecord(FIELDS, {
      timeMs,
      decision,
      limited: decision === allowed && (dice >>> 6) % 200 === 0 ? { limit: "calls", retryAfterMs: 100 } : undefined,
      requestId,
      traceId: requestId,
      bundleDigest: "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
      route,
      http: { method: "POST", path: "/mcp", host: "github.example.com", ip: "192.0.2.1" },
      user: { ...alice, id: user, email: `${user}@example.com` },
      sessionId: undefined,
      grantId: `grant-${(dice >>> 8) % USERS}-a1b2c3d4e5f6`,
      clientId: `client-${(dice >>> 16) % 50}`,
      authMethod: "grant",
      mcp: { method: "tools/call", tool },
      toolArguments: () => '{"repo":"hmac:Zm9vYmFyYmF6cXV4","title":"hmac:cXV4YmF6YmFyZm9v"}',
    });
    const copies = [{ value: JSON.parse(line) as RecordCopy["value"] }];
    if (dice % 1_000 === 0) return copies;
    const ended = formatOutcome({
      timeMs: timeMs + 12,
      of: number,
      requestId,
      status: decision === denied ? 403 : dice % 500 === 1 ? 502 : 200,
      failedBy: undefined,
      failure: undefined,
      durationMs: 12.345,
      lists: undefined,
    });
    return [...copies, { value: JSON.parse(ended) as RecordCopy["value"] }];
  };
}

/** 32 bits that look like chance. */
function scatter(number: number): number {
  let x = (number + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** One decision. */
export function copyOf(timeMs: number, id: string, value: Readonly<Record<string, unknown>> = {}): RecordCopy {
  const time = new Date(timeMs).toISOString();
  return {
    value: { level: "info", time, message: "authorize check", allow: true, deny: false, "request-id": id, ...value },
  };
}

/** The end of its request. */
export function endOf(id: string, status: number): RecordCopy {
  return {
    value: {
      message: "request outcome",
      "request-id": id,
      status,
      "duration-ms": 1.5,
      succeeded: true,
      guardrail: { verdict: "pass" },
      "list-hidden": 2,
      "list-shown": 3,
    },
  };
}
