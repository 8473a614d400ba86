/** What records, metrics and other people's programs know criteria by: words that stay. */
import { expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";

test("criteria, the subject of each, and its reasons in records", () => {
  expect(CRITERIA.map(({ name, about, reasons }) => [name, about, reasons.ok, reasons.no])).toEqual([
    ["accept", "nothing", "accept", "accept"],
    ["reject", "nothing", "reject", "reject"],
    ["authenticated_user", "user", "authenticated-user", "user-unauthorized"],
    ["user", "user", "user-ok", "user-unauthorized"],
    ["idp", "user", "idp-ok", "idp-unauthorized"],
    ["email", "user", "email-ok", "email-unauthorized"],
    ["domain", "user", "domain-ok", "domain-unauthorized"],
    ["groups", "user", "groups-ok", "groups-unauthorized"],
    ["claim", "user", "claim-ok", "claim-unauthorized"],
    ["device", "device", "device-ok", "device-unauthorized"],
    ["actor", "user", "user-ok", "user-unauthorized"],
    ["actor_claim", "user", "claim-ok", "claim-unauthorized"],
    ["mcp_tool", "tool", "mcp-tool-ok", "mcp-tool-unauthorized"],
    ["mcp_tool_argument", "tool", "mcp-tool-argument-ok", "mcp-tool-argument-unauthorized"],
    ["mcp_prompt", "message", "mcp-prompt-ok", "mcp-prompt-unauthorized"],
    ["mcp_resource", "message", "mcp-resource-ok", "mcp-resource-unauthorized"],
    ["mcp_skill", "message", "mcp-resource-ok", "mcp-resource-unauthorized"],
    ["mcp_method", "message", "mcp-method-ok", "mcp-method-unauthorized"],
    ["http_method", "request", "http-method-ok", "http-method-unauthorized"],
    ["http_path", "request", "http-path-ok", "http-path-unauthorized"],
    ["source_ip", "request", "source-ip-ok", "source-ip-unauthorized"],
    ["cors_preflight", "request", "cors-request", "non-cors-request"],
    ["client_certificate", "certificate", "client-certificate-ok", "client-certificate-unauthorized"],
    ["invalid_client_certificate", "certificate", "invalid-client-certificate", "valid-client-certificate"],
  ]);
});
