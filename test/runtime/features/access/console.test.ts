/** The `console` block: its policies are read and placed like those of routes, and it wants a host of its own. */
import { describe, expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";

const FILE = `
insecure_server: true
shared_secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
authenticate_service_url: https://auth.example.com
`;

function problemsOf(yaml: string, before = FILE, isBoot = true): readonly string[] {
  return loadSlices([{ file: "gateway.yaml", text: `${before}${yaml}`, boot: isBoot }]).problems.map(formatProblem);
}

test("a policy for each role, and for each role of an owner", () => {
  expect(
    problemsOf(`
console:
  name: Production (EU)
  viewer: { allow: { and: [{ domain: { is: example.com } }] } }
  operator: [{ allow: { and: [{ groups: { has: admins } }] }, deny: { or: [{ device: { approved: true } }] } }]
  owners:
    team-a: { auditor: { allow: { and: [{ email: { is: bob@example.com } }] } } }
    kubernetes.*: { viewer: { allow: { and: [{ groups: { has: platform } }] } } }
`),
  ).toEqual([]);
});

test.each([
  ["viewer: { allow: { and: [{ grops: { has: a } }] } }", 'viewer.allow.and[0].grops" unknown criterion'],
  ["viewer: [{ allow: { and: [{ mcp_tool: { is: a } }] } }]", 'viewer[0].allow.and[0].mcp_tool" can never match'],
  [
    "viewer: { allow: { and: [{ client_certificate: { fingerprint: 1 } }] } }",
    "viewer.allow.and[0].client_certificate",
  ],
  ["viewer: { approve: { and: [{ authenticated_user: true }] } }", 'viewer.approve" requires approval'],
  ["viewer: [{ shadow: true, allow: { and: [{ accept: true }] } }]", 'viewer[0].shadow" is not allowed here'],
  [
    "owners: { team-a: { viewer: { allow: { nor: [{ mcp_method: { is: x } }] } } } }",
    'owners["team-a"].viewer.allow.nor[0].mcp_method" can never match',
  ],
  ['owners: { "*": {} }', 'owners["*"]" must be'],
  ['name: ""', 'name" is "", must be 1 to 40 printable characters'],
  ['name: "a\\tb"', 'name" is "a\\tb", must be'],
  [`name: ${"x".repeat(41)}`, "must be 1 to 40"],
  ["admin: {}", 'admin" is not a known setting'],
])("what a policy about people in front of a browser cannot be: %s", (text, problem) => {
  const [found = "", ...more] = problemsOf(`console:\n  ${text}\n`);
  expect(more).toEqual([]);
  expect(found).toMatch(/^gateway\.yaml:6:\d+: error: "console\./);
  expect(found).toContain(problem);
});

test("certificates can be required if clients are asked for one", () => {
  const fingerprint = "ab".repeat(32);
  const policy = `console: { viewer: { allow: { and: [{ client_certificate: { fingerprint: ${fingerprint} } }] } } }`;
  expect(problemsOf(policy)[0]).toContain('requires "downstream_mtls"');
});

test("access requires a role, and the console requires a host", () => {
  expect(problemsOf("console: {}")).toEqual([
    'gateway.yaml:5:1: warning: "console" has no role, so no user can open it',
  ]);
  const viewer = "console: { viewer: { allow: { and: [{ authenticated_user: true }] } } }";
  expect(problemsOf(viewer, FILE.replace(/authenticate.*\n/, ""))).toEqual([
    'gateway.yaml:4:1: error: "console" requires "authenticate_service_url", whose host serves it',
  ]);
});

describe("with several providers", () => {
  const PROVIDERS = `
idp_provider_url: https://idp.example.com
idp_client_id: gateway
idp_client_secret: secret
identity_issuers:
  partner: { issuer: "https://partner.example.com", uses: [sign_in], sign_in: { client_id: gateway }, email_domains: [partner.example.com] }
`;
  const warnings = (yaml: string, providers = PROVIDERS): readonly string[] =>
    problemsOf(yaml, FILE + providers).filter((problem) => problem.includes('"console'));

  test.each([
    ["viewer: { allow: { and: [{ groups: { has: admins } }] } }", "console.viewer.allow.and[0].groups"],
    ["viewer: [{ allow: { or: [{ email: a@example.com }, { claim/role: admin }] } }]", "console.viewer[0].allow.or[1]"],
    [
      "owners: { team: { auditor: { allow: { not: [{ groups: guests }] } } } }",
      "console.owners.team.auditor.allow.not[0]",
    ],
  ])("a role by what any of them may say is warned about: %s", (role, place) => {
    const found = warnings(`console: { ${role} }`);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(place);
    expect(found[0]).toContain("counts for users of each of default, partner");
    expect(found[0]).toContain("warning");
    expect(warnings(`console: { ${role} }`, PROVIDERS.replace(/identity_issuers[^]*/, ""))).toEqual([]);
  });

  test.each([
    "viewer: { allow: { and: [{ groups: admins }, { idp: default }] } }",
    "viewer: [{ allow: { and: [{ groups: admins }] } }, { deny: { not: [{ idp: default }] } }]",
    "viewer: { allow: { and: [{ domain: example.com }, { groups: admins }] } }",
    "viewer: { allow: { and: [{ email: a@example.com }] } }",
  ])("one that names a provider, or who they are, is not: %s", (role) => {
    expect(warnings(`console: { ${role} }`)).toEqual([]);
  });
});

test("slices cannot configure it", () => {
  const text = "version: 1\nowner: team-a\nsettings: { console: { viewer: [] } }\n";
  const { problems } = loadSlices([{ file: "team-a.yaml", text, boot: false }]);
  expect(problems.map(({ severity, message }) => [severity, message])).toEqual([
    ["error", "belongs in the file given to `gateway run`, a published slice cannot set it"],
  ]);
});
