import { expect, test } from "vitest";

import { loadSlices } from "../../../../runtime/config/load.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";

const yaml = (accounts: string): string => `
runtime_flags: { mcp: true }
routes:
  - name: tools
    from: https://tools.example.com
    to: https://tools.example.net
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    mcp: { server: ${accounts} }
`;

test.each([
  ["{ introspection_accounts: [auditor, CI_2.x] }", ["auditor", "CI_2.x"]],
  ["{ introspection_accounts: [] }", []],
  ["{}", []],
])("mcp.server %s names the accounts that may ask", (text, names) => {
  expect(routeNamed(snapshotFrom(yaml(text)), "tools").mcp).toMatchObject({ introspectionAccounts: names });
});

test.each(["service-account:ci", "*", "", "gwc_A/b", "-ci", "a".repeat(64), "alice@example.com", "cï"])(
  "mcp.server.introspection_accounts rejects %j, which is not an account's name",
  (name) => {
    const text = yaml(`{ introspection_accounts: [${JSON.stringify(name)}] }`);
    const problems = loadSlices([{ file: "gateway.yaml", text, boot: false }]).problems;
    expect(problems.filter(({ severity }) => severity === "error").map(({ message }) => message)).toEqual([
      expect.stringContaining("must be the name of a service account"),
    ]);
  },
);
