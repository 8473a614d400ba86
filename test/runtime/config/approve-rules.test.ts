/** Where rules that ask for approvals may stand, and what they need. */
import { expect, test } from "vitest";

import { loadSlices } from "../../../runtime/config/load.ts";
import { formatPath } from "../../../runtime/settings/problem.ts";

const company = { allow: { and: [{ domain: "example.com" }] } };
const asking = { approve: { and: [{ mcp_tool: "delete_repo" }] }, approvers: ["admins"] };

function problemsOf(route: object, settings: object = { authenticate_service_url: "https://auth.example.com" }) {
  const routes = [{ name: "tools", from: "https://tools.example.com", to: "http://up.internal", ...route }];
  const value = {
    shared_secret: "s".repeat(44),
    idp_provider_url: "https://idp.example.com",
    ...BOOT,
    ...settings,
    routes,
  };
  const { problems } = loadSlices([{ file: "gateway.json", text: JSON.stringify(value), boot: true }]);
  return problems
    .filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${formatPath(path)} ${message}`);
}

const BOOT = { idp_client_id: "gateway", idp_client_secret: "secret", runtime_flags: { mcp: true } };
const server = { mcp: { server: {} } };

test("they require an MCP server route and a host for the approval page", () => {
  expect(problemsOf({ ...server, policy: [company, asking] })).toEqual([]);
  expect(problemsOf({ ...server, policy: [company, asking] }, {})).toEqual([
    'routes[0].policy[1].approve requires "authenticate_service_url", whose host serves approvals',
  ]);
  expect(problemsOf({ ...server, policy: company, shadow_policy: [company, asking] }, {})).toEqual([
    'routes[0].shadow_policy[1].approve requires "authenticate_service_url", whose host serves approvals',
  ]);
  const message = 'requires approval of tool calls, but the route is not an MCP server route, must have "mcp.server"';
  expect(problemsOf({ policy: [company, { approve: { and: [{ authenticated_user: true }] } }] })).toEqual([
    `routes[0].policy[1].approve ${message}`,
  ]);
  expect(problemsOf({ mcp: { client: {} }, policy: [company, { approve: { and: [{ accept: true }] } }] })).toEqual([
    `routes[0].policy[1].approve ${message}`,
  ]);
});

test("they have only criteria of tool calls", () => {
  const of = (criterion: object) => problemsOf({ ...server, policy: [company, { approve: { or: [criterion] } }] });
  for (const name of ["mcp_prompt", "mcp_resource", "mcp_method"])
    expect(of({ [name]: "x:y" })).toEqual([
      `routes[0].policy[1].approve.or[0].${name} is not a criterion of tool calls, and only tool calls can be approved: remove it`,
    ]);
  expect(of({ mcp_tool_argument: { tool: "pay", argument: "/amount", gt: 100 } })).toEqual([]);
  expect(of({ groups: { exclude: "admins" } })).toEqual([]);
});
