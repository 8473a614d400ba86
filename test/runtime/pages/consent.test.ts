import { expect, test } from "vitest";

import { consentPage, type ConsentParts } from "../../../runtime/pages/consent.ts";

const PARTS: ConsentParts = {
  clientName: "Claude Code",
  clientHost: "claude.ai",
  servers: [{ name: "Refund desk", url: "https://desk.example.com/mcp" }],
  scopes: [{ scope: "mcp", tools: [] }],
  access: { kind: "while-used", idleSeconds: 3600, totalSeconds: undefined },
  user: "bob@example.com",
  redirectTarget: "127.0.0.1:1",
  isLoopback: true,
  form: { action: "/x", requestId: "r", csrfToken: "t" },
};

const itemsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<li>([\s\S]*?)<\/li>/g)].map((match) =>
    (match[1] ?? "")
      .replace(/<[^>]*>/g, "")
      .replace(/\s+/g, " ")
      .trim(),
  );

test("the consent page says which tools the client can call for this user, and which it cannot", () => {
  const names = Array.from({ length: 14 }, (_, index) => `read_${index}`);
  const tools = { allowed: names, isComplete: true, approval: ["<refund>"], denied: 3 };
  const text = consentPage({ ...PARTS, tools })();
  expect(itemsOf(text).slice(0, 5)).toEqual([
    "Act on your behalf on this MCP server, with your own permissions",
    `Call ${names.slice(0, 12).join(", ")} and 2 more`,
    "Call &#60;refund&#62;, some calls only after an approval",
    "Call 3 other tools of this server",
    "Use any other server, or do what you cannot do yourself",
  ]);
  expect(text).toContain("Verified by claude.ai");
  const some = { ...tools, allowed: ["read"], isComplete: false };
  expect(itemsOf(consentPage({ ...PARTS, tools: some })())[1]).toBe("Call read, and others that you can call");
});

test("a name that only the client states is unverified", () => {
  expect(consentPage({ ...PARTS, clientHost: undefined })()).toContain("Unverified name");
});

test("a federated server names the servers behind it", () => {
  const servers = [{ name: "Tools", url: "https://tools.example.com", members: ["github", "wiki"] }];
  expect(itemsOf(consentPage({ ...PARTS, servers })())[1]).toBe("Use the servers behind Tools: github, wiki");
});
