/** Names that pages print exist: settings, criteria, error codes, metrics, claims, endpoints. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ADMIN_ENDPOINTS, MCP_ENDPOINTS, PUBLIC_ENDPOINTS } from "../../runtime/config/surfaces/reference-endpoints.ts";
import { routeFields } from "../../runtime/config/route.ts";
import { settingsFields } from "../../runtime/config/settings.ts";
import { ERROR_CODES } from "../../runtime/http/codes.ts";
import { CRITERIA } from "../../runtime/policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../runtime/policy/match.ts";
import { eachField } from "../../runtime/settings/shapes.ts";
import { attributeNames } from "../../runtime/settings/secret-forms.ts";
import { pagesIn, readPage } from "../support/page-blocks.ts";

const root = new URL("../../", import.meta.url).pathname;

const pages = [
  "README.md",
  ".github/CONTRIBUTING.md",
  "cdktf/README.md",
  ...["guide", "operations", "reference"].flatMap((folder) => pagesIn(`runtime/${folder}`)),
  ...["SECURITY", "REFERENCE", "terraform/README", "store/SCHEMA"].map((page) => `runtime/${page}.md`),
  ...readdirSync(join(root, "examples"), { recursive: true })
    .map((file) => join("examples", String(file)))
    .filter((file) => file.endsWith("README.md") && !/node_modules|cdktf\.out/.test(file)),
];

/** Inline code, page by page. */
const inline = pages.flatMap((page) =>
  [
    ...readPage(page)
      .replaceAll(/^( *)```[^]*?^\1```$/gm, "")
      .matchAll(/`([^`\n]+)`/g),
  ].map(([, code = ""]) => ({ page, code })),
);

const fields = [...eachField([...settingsFields, ...routeFields])];
const paths = new Set(
  fields.map(({ path }) => path.filter((part) => part !== "[]" && !part.startsWith("<")).join(".")),
);
const words = new Set([...readPage("test/golden/words.txt").split("\n"), ...Object.keys(ERROR_CODES)]);
const names = new Set([
  ...fields.flatMap(({ field }) => [
    ...attributeNames(field),
    ...(field.annotation === undefined ? [] : [field.annotation]),
  ]),
  ...fields.flatMap(({ field }) => field.values ?? []),
  ...CRITERIA.map(({ name }) => name),
  ...STRING_OPERATORS,
  ...LIST_OPERATORS,
  ...words,
]);
/** Names that are not ours, and those that only stand for others. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  "parameters of identity providers": ["access_type"],
  "settings of the Rust SDK for MCP": ["with_allowed_hosts", "with_initial_scope_selection"],
  "settings of OpenBao's Kubernetes login": ["kubernetes_ca_cert", "token_reviewer_jwt"],
  "a metric of the ingress controller": ["gateway_ingress_refused_total"],
  "members of OAuth's documents and responses": [
    "dpop_bound_access_tokens",
    "dpop_jkt",
    "expires_in",
    "invalid_dpop_proof",
    "jwks_uri",
    "use_dpop_nonce",
  ],
  "members of clients at identity providers": ["backchannel_logout_uri", "token_endpoint_auth_signing_alg"],
  "tools of MCP servers, the demo's among them": [
    "add_note",
    "create_issue",
    "delete_repo",
    "delete_secret",
    "list_notes",
    "list_repos",
  ],
  "tables and settings of PostgreSQL and SQLite": [
    "default_transaction_read_only",
    "synchronous_standby_names",
    "gateway_allotments",
    "gateway_history",
    "gateway_leases",
    "gateway_records",
    "gateway_schema",
    "gateway_steps",
    "gateway_tags",
  ],
  "attributes of OpenTelemetry": [
    "gen_ai",
    "error_type",
    "gateway_route",
    "gen_ai_operation_name",
    "gen_ai_prompt_name",
    "gen_ai_tool_name",
    "mcp_method_name",
    "mcp_protocol_version",
    "mcp_server_operation_duration_seconds_count",
    "network_protocol_name",
    "network_protocol_version",
    "network_transport",
    "otel_metric_overflow",
    "rpc_response_status_code",
  ],
  "metrics of the process": ["gateway_nodejs_eventloop_lag_p99_seconds"],
  "a secret x in its spellings": ["x_ref", "x_sealed", "x_wo", "x_wo_version"],
  "what Pomerium has and this gateway has not": ["time_of_day"],
  "members of answers": ["approval_id", "approval_url", "request_id", "store_failing_seconds", "tool_notes"],
  "claims of the identity header": ["groups_omitted"],
  "claims of OpenID Connect": ["preferred_username"],
  "claims of platforms": [
    "job_workflow_ref",
    "project_id",
    "ref_protected",
    "ref_type",
    "repository_id",
    "repository_owner_id",
    "job_id",
    "run_id",
    "aws_account",
  ],
  "members of requests for global token revocation": ["iss_sub", "sub_id"],
  "arguments of Terraform": ["action_trigger", "include_resource"],
  "other programs": ["auth_request", "node_modules", "rule_files", "stop_grace_period"],
};

/** `owners.<name>.allowed_from` → owners.allowed_from; what is no path of names is undefined. */
function settingPath(code: string): string | undefined {
  const [path = ""] = code.split(":");
  const parts = path.replaceAll("[]", "").split(".");
  if (parts.length < 2 || !parts.every((part) => /^(?:[a-z][a-z0-9_]*|<[a-z]+>|NAME|"?kubernetes\.?\*?"?)$/.test(part)))
    return undefined;
  // An owner's name, as in owners.kubernetes.allowed_from; elsewhere it is a setting's.
  const isOwner = (part: string, at: number): boolean => part === "kubernetes" && parts[at - 1] === "owners";
  return parts.filter((part, at) => /^[a-z]/.test(part) && !isOwner(part, at)).join(".");
}

const FILE = /\.(?:ts|js|mjs|cjs|json|md|tf|yaml|proto|service|rc|tftest|hcl|sh|py|crt|key)$/;

describe("in code marks", () => {
  test("names with low lines are settings, criteria or other words of the gateway", () => {
    const foreign = new Set(Object.values(FOREIGN).flat());
    const found = inline.flatMap(({ page, code }) =>
      [...code.matchAll(/(?<![\w./$-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w-])/g)].map(([name]) => ({ page, name })),
    );
    expect(found.length).toBeGreaterThan(500);
    expect(found.filter(({ name }) => !names.has(name) && !foreign.has(name))).toEqual([]);
  });

  test("paths of settings exist", () => {
    const tops = new Set([...paths].map((path) => path.split(".")[0]));
    const found = inline.flatMap(({ page, code }) => {
      const path = FILE.test(code) ? undefined : settingPath(code);
      return path !== undefined && tops.has(path.split(".")[0]) ? [{ page, code, path }] : [];
    });
    expect(found.length).toBeGreaterThan(60);
    const isSetting = (path: string): boolean => paths.has(path) || paths.has(path.replace(/_(?:ref|sealed)$/, ""));
    expect(found.filter(({ path, code }) => !isSetting(path) && !words.has(code))).toEqual([]);
  });

  test("codes with a full stop are ones that the gateway answers", () => {
    // Words of Kubernetes objects, of answers' members, of Terraform's blocks.
    const others = /^(?:spec|metadata|data|route|owners|resource|terraform|rules|module|settings|stack)\./;
    const found = inline.filter(
      ({ code }) => /^[a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*$/.test(code) && !FILE.test(code) && !others.test(code),
    );
    expect(found.filter(({ code }) => !words.has(code) && !paths.has(code))).toEqual([]);
  });

  test("addresses of the gateway's own exist", () => {
    const known = new Set([...PUBLIC_ENDPOINTS, ...MCP_ENDPOINTS, ...ADMIN_ENDPOINTS].map(({ path }) => path));
    const found = inline.flatMap(({ page, code }) =>
      [
        ...code.matchAll(
          /(?<![\w.])\/(?:\.gateway\/|\.well-known\/(?:gateway|oauth|openid)|config\/|publish-tokens|status$|metrics$|healthz|readyz)[\w./<>-]*/g,
        ),
      ].map(([path]) => ({ page, path })),
    );
    expect(found.length).toBeGreaterThan(60);
    const isKnown = (path: string): boolean =>
      known.has(path) || known.has(path.replace(/(?<=\/slices\/)[\w.-]+$/, "<owner>"));
    expect(found.filter(({ path }) => !isKnown(path))).toEqual([]);
  });

  test("of the constructs' page are exports and props", () => {
    const page = readPage("cdktf/README.md");
    const sources = [
      "index.ts",
      "testing.ts",
      "generated/props.ts",
      "generated/provider.ts",
      "gateway.ts",
      "route.ts",
      "mcp-server-route.ts",
    ]
      .concat(["policy.ts", "secret.ts", "header-value.ts", "upstream-oauth2.ts", "domains.ts"])
      .map((file) => readPage(`cdktf/${file}`))
      .join("\n");
    const found = [...page.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`[^`\n]+`/g)].flatMap(([code]) => [
      ...code.matchAll(/(?<![\w$])[a-z]+[A-Z]\w*|(?<![\w$])[A-Z][a-z]\w+(?=[(.`])/g),
    ]);
    expect(found.length).toBeGreaterThan(40);
    const isKnown = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(sources);
    expect(found.map(([name]) => name).filter((name) => !isKnown(name))).toEqual([]);
  });
});
