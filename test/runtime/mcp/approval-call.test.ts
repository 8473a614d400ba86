/** What of a message is not part of what is approved: only what each sending has another one of, in its known shape. */
import { expect, test } from "vitest";

import { givenToTool } from "../../../runtime/mcp/approval/approval-call.ts";

function given(meta: unknown): string | undefined {
  const params = { name: "deploy", arguments: { env: "prod" }, _meta: meta };
  return givenToTool({ bytes: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })) });
}

const NOTHING = '{"arguments":{"env":"prod"}}';

test.each<[string, unknown]>([
  ["progressToken", 7],
  ["progressToken", "0b3d5c1e-6d0f-4b8e-9f57-1b7d4d2a3c11"],
  ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  ["tracestate", "rojo=00f067aa0ba902b7,congo@x=t61rcWkgMzE, ,a/b=1"],
  ["tracestate", ""],
  ["baggage", "sentry-trace_id=771a43a4192642f0b136d5159a501700,userId=alice;p=1 , k = v"],
])("a %s of its shape (%j) is not bound", (name, value) => {
  expect(given({ [name]: value })).toBe(NOTHING);
});

test.each<[string, unknown]>([
  ["progressToken", { dry_run: false }],
  ["progressToken", [1]],
  ["progressToken", true],
  ["progressToken", null],
  ["progressToken", "x".repeat(129)],
  ["progressToken", "a\nb"],
  ["traceparent", "prod"],
  ["traceparent", { of: "prod" }],
  ["tracestate", "prod"],
  ["tracestate", ["a=b"]],
  ["baggage", { target: "prod" }],
  ["baggage", ["target=prod"]],
  ["baggage", '{"target":"prod"}'],
  ["baggage", "target"],
  ["baggage", 'a=b;{"target":"prod"}'],
  ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-prod"],
  ["baggage", `a=${"x".repeat(8192)}`],
  ["Baggage", "a=b"],
  ["x", 1],
])("a %s of another shape (%j) is bound", (name, value) => {
  expect(given({ [name]: value })).toBe(JSON.stringify({ _meta: { [name]: value }, arguments: { env: "prod" } }));
});
