/** The constructs' props, generated and by hand, against the Field tree: a setting added there must appear here. */
import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { DOCS } from "../../../cdktf/generate/prop-words.ts";
import { propName } from "../../../cdktf/synth/document.ts";
import type { Field } from "../../../runtime/settings/field.ts";
import { routeFields } from "../../../runtime/config/route.ts";
import { settingsFields } from "../../../runtime/config/settings.ts";

interface Prop {
  /** The interface that has it, and its name. */
  readonly key: string;
  readonly required: boolean;
  readonly doc: string;
  readonly default: string | undefined;
}

const FILES = ["generated/props", "route", "mcp-server-route"];
const source = FILES.map((name) => readFileSync(new URL(`../../../cdktf/${name}.ts`, import.meta.url), "utf8")).join(
  "\n",
);

/** Members of an interface of cdktf/, inherited ones included. */
function propsOf(name: string): Map<string, Prop> {
  const found = new RegExp(`export interface ${name}(?: extends ([\\w, ]+))? \\{([\\s\\S]*?)\\n\\}`).exec(source);
  if (!found) throw new Error(`Cannot find interface ${name}`);
  const [, parents, body = ""] = found;
  const props = new Map((parents?.split(", ") ?? []).flatMap((parent) => [...propsOf(parent)]));
  for (const [, doc = "", prop = "", optional] of body.matchAll(/\/\*\*([^]*?)\*\/\s+readonly (\w+)(\?)?:/g)) {
    const text = doc.replaceAll(/^\s*\* ?/gm, "").trim();
    const [words = "", fallback] = text.split(/^@default /m);
    props.set(prop, {
      key: `${name}.${prop}`,
      required: optional === undefined,
      doc: words.trim().replaceAll("\n", " "),
      default: fallback,
    });
  }
  return props;
}

function fieldsAt(fields: readonly Field[], ...path: readonly string[]): readonly Field[] {
  return path.reduce((level, name) => level.find((field) => field.name === name)?.fields ?? [], fields);
}

const live = settingsFields.filter(({ scope }) => scope === "live");
const server = fieldsAt(routeFields, "mcp", "server");
const oauth = fieldsAt(server, "upstream_oauth2");

/** What is left of a doc when names are spelt in any way. */
function letters(doc: string): string {
  return doc
    .replaceAll("the global ", "the gateway's ")
    .replaceAll(/[_"\\]/g, "")
    .toLowerCase();
}

/** Settings below `mcp` are props of their own constructs, and one of them would clash with a route's own. */
const routeProps = propsOf("RouteProps");
const serverProps = new Map([...propsOf("McpServerRouteProps")].filter(([name]) => !routeProps.has(name)));
const serverFields = server.map((field) => (field.name === "path" ? { ...field, name: "mcp_path" } : field));

const cases: readonly (readonly [string, readonly Field[], ReadonlyMap<string, Prop>])[] = [
  ["GatewaySettings", live, propsOf("GatewaySettings")],
  ["RuntimeFlags", fieldsAt(live, "runtime_flags"), propsOf("RuntimeFlags")],
  ["GroupsResolver", fieldsAt(live, "idp_groups_resolver"), propsOf("GroupsResolver")],
  ["EntraGroups", fieldsAt(live, "idp_groups_resolver", "entra"), propsOf("EntraGroups")],
  ["IssuerSignIn", fieldsAt(live, "identity_issuers", "sign_in"), propsOf("IssuerSignIn")],
  ["IdentityIssuer", fieldsAt(live, "identity_issuers"), propsOf("IdentityIssuer")],
  ["WorkloadRule", fieldsAt(live, "identity_issuers", "workload_rules"), propsOf("WorkloadRule")],
  ["AgentRuns", fieldsAt(live, "identity_issuers", "workload_rules", "agent_runs"), propsOf("AgentRuns")],
  ["Directory", fieldsAt(live, "directories"), propsOf("Directory")],
  ["HostCertificate", fieldsAt(live, "host_certificates"), propsOf("HostCertificate")],
  ["RouteProps", routeFields.filter(({ name }) => name !== "mcp"), routeProps],
  ["RateLimit", fieldsAt(routeFields, "rate_limits"), propsOf("RateLimit")],
  ["ResponseHeaderRewrite", fieldsAt(routeFields, "rewrite_response_headers"), propsOf("ResponseHeaderRewrite")],
  ["MaglevLbConfig", fieldsAt(routeFields, "maglev_lb_config"), propsOf("MaglevLbConfig")],
  ["HealthCheck", fieldsAt(routeFields, "health_checks"), propsOf("HealthCheck")],
  ["HttpHealthCheck", fieldsAt(routeFields, "health_checks", "http_health_check"), propsOf("HttpHealthCheck")],
  ["TcpHealthCheck", fieldsAt(routeFields, "health_checks", "tcp_health_check"), propsOf("TcpHealthCheck")],
  [
    "HealthCheckPayload",
    fieldsAt(routeFields, "health_checks", "tcp_health_check", "send"),
    propsOf("HealthCheckPayload"),
  ],
  ["GrpcHealthCheck", fieldsAt(routeFields, "health_checks", "grpc_health_check"), propsOf("GrpcHealthCheck")],
  [
    "StatusRange",
    fieldsAt(routeFields, "health_checks", "http_health_check", "expected_statuses"),
    propsOf("StatusRange"),
  ],
  ["OutlierDetection", fieldsAt(routeFields, "outlier_detection"), propsOf("OutlierDetection")],
  [
    "CircuitBreakerThresholds",
    fieldsAt(routeFields, "circuit_breaker_thresholds"),
    propsOf("CircuitBreakerThresholds"),
  ],
  ["RouteRedirect", fieldsAt(routeFields, "redirect"), propsOf("RouteRedirect")],
  ["RouteResponse", fieldsAt(routeFields, "response"), propsOf("RouteResponse")],
  ["McpServerRouteProps", serverFields, serverProps],
  ["UpstreamIdJag", fieldsAt(oauth, "id_jag"), propsOf("UpstreamIdJag")],
  ["UpstreamWorkload", fieldsAt(oauth, "workload"), propsOf("UpstreamWorkload")],
  ["RecordArguments", fieldsAt(server, "record_arguments"), propsOf("RecordArguments")],
  ["HistoryRule", fieldsAt(server, "history_rules"), propsOf("HistoryRule")],
  ["HistoryAfter", fieldsAt(server, "history_rules", "after"), propsOf("HistoryAfter")],
  ["HistoryNotAfter", fieldsAt(server, "history_rules", "not_after"), propsOf("HistoryNotAfter")],
  ["HistoryAtMost", fieldsAt(server, "history_rules", "at_most"), propsOf("HistoryAtMost")],
  ["HistoryTotal", fieldsAt(server, "history_rules", "total"), propsOf("HistoryTotal")],
  ["Guardrail", fieldsAt(server, "guardrail"), propsOf("Guardrail")],
  ["ToolLock", fieldsAt(server, "tool_lock"), propsOf("ToolLock")],
  ["UpstreamOauth2Endpoint", fieldsAt(oauth, "endpoint"), propsOf("UpstreamOauth2Endpoint")],
  ["UpstreamOauth2Endpoints", oauth, propsOf("UpstreamOauth2Endpoints")],
];

describe.each(cases)("%s", (name, fields, props) => {
  test("has a prop for every setting, and no other", () => {
    expect(fields.length).toBeGreaterThan(0);
    expect([...props.keys()].sort()).toEqual(fields.map((field) => propName(field.name)).sort());
  });

  test.each(fields.map((field) => [field.name, field] as const))("%s is described like the setting", (_, field) => {
    const prop = props.get(propName(field.name));
    // The three ways to reach an upstream's OAuth require what the setting itself leaves open.
    if (name !== "UpstreamOauth2Endpoints") expect(prop?.required).toBe(field.required);
    expect(prop?.doc).not.toBe("");
    const isByHand = prop?.key.includes("Props.") === true;
    if (!isByHand && !((prop?.key ?? "") in DOCS)) expect(letters(prop?.doc ?? "")).toBe(letters(field.doc));
    if (prop?.required) return;
    if (field.default !== undefined) expect(prop?.default).toBe([field.default].flat().join(", "));
    else if (isByHand) expect(prop?.default).toMatch(/^- \w/);
    else if (field.unset === "none") expect(prop?.default).toBeUndefined();
    else expect(letters(prop?.default ?? "")).toBe(`- ${letters(field.unset ?? "")}`);
  });
});

test("every block of the Field tree is covered above", () => {
  const blocks = (fields: readonly Field[]): readonly string[] =>
    fields.flatMap((field) => (field.fields ? [field.name, ...blocks(field.fields)] : []));
  const known = [
    "runtime_flags",
    "idp_groups_resolver",
    "entra",
    "identity_issuers",
    "workload_rules",
    "agent_runs",
    "sign_in",
    "groups_resolver",
    "entra",
    "directories",
    "host_certificates",
    "mcp",
    "server",
    "record_arguments",
    "history_rules",
    "guardrail",
    "after",
    "not_after",
    "at_most",
    "total",
    "tool_lock",
    "upstream_oauth2",
    "id_jag",
    "workload",
    "endpoint",
    "client",
    "rate_limits",
    "rewrite_response_headers",
    "set_request_headers_secret",
    "redirect",
    "response",
    "maglev_lb_config",
    "health_checks",
    "http_health_check",
    "expected_statuses",
    "tcp_health_check",
    "send",
    "receive",
    "grpc_health_check",
    "outlier_detection",
    "circuit_breaker_thresholds",
  ];
  expect([...blocks(live), ...blocks(routeFields)].toSorted()).toEqual(known.toSorted());
  expect(fieldsAt(routeFields, "mcp", "client")).toEqual([]);
});

test("AuthorizeLogField names the fields a record may carry", () => {
  const [, union = ""] = /export type AuthorizeLogField =([^;]*);/.exec(source) ?? [];
  const doc = live.find(({ name }) => name === "authorize_log_fields")?.doc ?? "";
  const listed = doc.slice(doc.lastIndexOf(":") + 1).match(/[a-z-]+/g);
  expect([...union.matchAll(/"([a-z-]+)"/g)].map(([, name]) => name)).toEqual(listed);
});

test.each(Object.entries(DOCS))("%s is worded for TypeScript, and not as in the file", (key, words) => {
  const found = cases.flatMap(([, fields, props]) =>
    [...props].filter(([, prop]) => prop.key === key).map(([name, prop]) => [fieldNamed(fields, name), prop] as const),
  );
  expect(found.length).toBeGreaterThan(0);
  for (const [field, prop] of found) {
    expect(prop.doc).toContain(words.replace(/^… /, ""));
    expect(letters(prop.doc)).not.toBe(letters(field?.doc ?? ""));
    expect(prop.doc.startsWith("…")).toBe(false);
  }
});

function fieldNamed(fields: readonly Field[], prop: string): Field | undefined {
  return fields.find(({ name }) => propName(name) === prop);
}
