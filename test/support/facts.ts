/** Facts for policy tests: a signed-in user and a request, changed where the test cares. */
import type { Facts, McpFacts, UserFacts } from "../../runtime/policy/facts.ts";

export const alice: UserFacts = {
  id: "user-1",
  email: "alice@example.com",
  name: "Alice",
  groups: ["engineering", "on-call"],
  claims: { department: "platform", level: 3, nested: { team: ["core", "infra"] }, "https://example.com/role": "lead" },
};

export const plainHttp: Facts["http"] = { method: "POST", path: "/mcp", host: "mcp.example.com", ip: "192.0.2.7" };

/** Alice sends `message`; absent on ordinary routes. */
export function asAlice(message?: McpFacts): Facts {
  return message === undefined ? { user: alice, http: plainHttp } : { user: alice, http: plainHttp, mcp: message };
}

/** A caller who is not signed in. */
export function anonymous(message?: McpFacts): Facts {
  return message === undefined ? { http: plainHttp } : { http: plainHttp, mcp: message };
}

export function asUser(changes: Partial<UserFacts>): Facts {
  return { user: { ...alice, ...changes }, http: plainHttp };
}

export function toolCall(tool: string): McpFacts {
  return { method: "tools/call", tool };
}
