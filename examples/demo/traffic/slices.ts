/** Servers of an invented company, one team each, for a console with something in it. */

/** @returns file name → slice, for the gateway at this origin; all servers are the MCP server of the demo */
export function trafficSlices(origin: string, mcpServer: string): Readonly<Record<string, string>> {
  const slice = (owner: string, name: string, policy: string): string => `version: 1
owner: ${owner}
routes:
  ${name}:
    from: ${origin}
    prefix: /${name}
    to: ${mcpServer}
    mcp: { server: { path: /mcp } }
    policy:
${policy}`;
  return {
    "sales.yaml": slice(
      "sales",
      "salesforce",
      `      - allow: { or: [{ groups: { has: sales } }, { groups: { has: support } }] }
        deny: { or: [{ mcp_tool: { is: export_contacts } }, { mcp_tool: { starts_with: delete_ } }] }
`,
    ),
    "data.yaml": slice(
      "data",
      "warehouse",
      `      - allow: { and: [{ groups: { has: data } }] }
        deny: { and: [{ mcp_tool: { is: drop_table } }] }
`,
    ),
    "payments.yaml": slice(
      "payments",
      "desk",
      `      - allow: { or: [{ groups: { has: support } }, { groups: { has: sales } }] }
        deny: { and: [{ mcp_tool_argument: { tool: refund, argument: /amount, gt: 500 } }] }
      - approve: { and: [{ mcp_tool_argument: { tool: refund, argument: /amount, gt: 100 } }] }
        approvers: [admins]
`,
    ),
  };
}
