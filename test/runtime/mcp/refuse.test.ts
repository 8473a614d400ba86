import { describe, expect, test } from "vitest";

import { REFUSAL_REASONS, refusal } from "../../../runtime/mcp/refusals.ts";
import { ACCESS_DENIED_CODE, denialAnswer, refusalAnswer } from "../../../runtime/mcp/refuse.ts";
import type { WireAnswer } from "../../../runtime/mcp/refuse.ts";
import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import { asAlice, asUser, toolCall } from "../../support/facts.ts";
import { readMessage, toolCallBody } from "../../support/mcp.ts";

const policy = compilePolicy({
  allow: { or: [{ domain: "example.com" }] },
  deny: { or: [{ mcp_tool: "delete_repo" }] },
});
const byTool = evaluate(policy, asAlice(toolCall("delete_repo")));
const byUser = evaluate(policy, asUser({ email: "eve@evil.example" }));

function bodyOf(answer: WireAnswer): unknown {
  expect(answer.headers).toContain("application/json");
  expect(answer.headers).toContain("no-store");
  return JSON.parse(answer.body) as unknown;
}

/** A message that must be good. */
function good(body: unknown): Parameters<typeof denialAnswer>[0] {
  const message = readMessage(body);
  if (!message.ok) throw new Error(message.reason);
  return message;
}

describe("denialAnswer()", () => {
  test("a denied tool call with an id: 200, JSON-RPC error, same id", () => {
    const answer = denialAnswer(good(toolCallBody("delete_repo", {}, "call-1")), byTool, "req-1");
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toEqual({
      jsonrpc: "2.0",
      id: "call-1",
      error: {
        code: ACCESS_DENIED_CODE,
        message: "Tool call denied by policy (request ID req-1)",
        data: { reason: "mcp-tool-unauthorized", request_id: "req-1" },
      },
    });
  });

  test("its code lies outside what JSON-RPC and MCP keep", () => {
    expect(ACCESS_DENIED_CODE < -32768 || ACCESS_DENIED_CODE > -32000).toBe(true);
  });

  test("an ID is returned unchanged", () => {
    for (const id of ["12345678901234567890", '"\\u0061\\n"', '"\\ud800"', "-0"]) {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x"}}`;
      expect(denialAnswer(good(body), byTool, "r").body).toContain(`"id":${id},`);
    }
  });

  test("a tool call denied for the user does not tell why", () => {
    const answer = denialAnswer(good(toolCallBody("search")), byUser, "req-1");
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({ id: 1, error: { data: { reason: "access-denied", request_id: "req-1" } } });
    expect(answer.body).not.toContain("domain");
  });

  test.each<[string, unknown]>([
    ["a tool call without an id", { jsonrpc: "2.0", method: "tools/call", params: { name: "delete_repo" } }],
    ["another request", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }],
    ["a posted response", { jsonrpc: "2.0", id: 1, result: {} }],
    ["a request without a body", undefined],
  ])("%s: 403 with a JSON-RPC error without id", (_, body) => {
    const answer = denialAnswer(body === undefined ? undefined : good(body), byUser, "req-1");
    expect(answer.status).toBe(403);
    expect(bodyOf(answer)).toMatchObject({
      jsonrpc: "2.0",
      error: { code: ACCESS_DENIED_CODE, data: { request_id: "req-1" } },
    });
    expect(bodyOf(answer)).not.toHaveProperty("id");
    // Neither would make a client sign in again.
    expect(answer.headers.join()).not.toMatch(/www-authenticate/i);
  });
});

describe("refusalAnswer()", () => {
  test.each(REFUSAL_REASONS)("%s", (reason) => {
    const answer = refusalAnswer(refusal(reason), "req-1");
    expect(reason === "mcp-overloaded" ? [503] : [400, 405, 413, 415]).toContain(answer.status);
    expect(bodyOf(answer)).toEqual({
      jsonrpc: "2.0",
      error: {
        code: expect.any(Number) as number,
        message: expect.any(String) as string,
        data: { reason, request_id: "req-1" },
      },
    });
  });

  test("with the id once the message was read so far", () => {
    expect(bodyOf(refusalAnswer(refusal("mcp-header-mismatch", "7"), "r"))).toMatchObject({
      id: 7,
      error: { code: -32020 },
    });
  });

  test("405 names the methods", () => {
    const { headers } = refusalAnswer(refusal("mcp-http-method"), "r");
    expect(headers[headers.indexOf("allow") + 1]).toBe("GET, POST, DELETE, OPTIONS");
  });
});

test("denialAnswer() rejects a path with several readings, with the ID of the message", () => {
  const policy = compilePolicy({ allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: "/a" }] } });
  const http = { method: "POST", path: "/a;x", otherPaths: ["/a"], host: "h", ip: "192.0.2.1" };
  const answer = denialAnswer(undefined, evaluate(policy, { http }), "req-1");
  expect(answer.status).toBe(400);
  expect(bodyOf(answer)).toMatchObject({ error: { data: { reason: "http-path-ambiguous" } } });
});
