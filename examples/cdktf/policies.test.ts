/** `node --test`: who may do what, decided by the engine that the gateway runs. Any test runner does. */
import { test } from "node:test";

import { expectAllow, expectDeny } from "../../cdktf/testing.ts";
import { buildTeam } from "./main.ts";

const { issues, status, wiki } = buildTeam({
  origin: "https://team.example.com",
  upstream: "http://team.internal:8080",
  directory: "/slices",
});
const alice = { email: "alice@example.com", groups: ["engineering"] };
const root = { email: "root@example.com", groups: ["admins"] };

void test("engineers read issues and nothing else", () => {
  expectAllow(issues, { ...alice, mcpMethod: "tools/list" });
  expectAllow(issues, { ...alice, tool: "get_issue" });
  expectDeny(issues, { ...alice, tool: "delete_issue" });
});

void test("administrators use every tool", () => {
  expectAllow(issues, { ...root, tool: "delete_issue" });
});

void test("nobody else gets near the issues or the wiki", () => {
  expectDeny(issues, { email: "bob@example.com", tool: "get_issue" });
  expectDeny(wiki, { email: "bob@example.com" });
  expectDeny(wiki, {});
});

void test("the status page is for everybody", () => {
  expectAllow(status, {});
});
