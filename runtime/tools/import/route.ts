/** One Pomerium route → one of ours, or none if omitting something would misdirect requests. */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { parseFrom } from "../../features/routing/from.ts";
import { routeFields } from "../../config/route.ts";
import { convertBalancing, isBalancingSetting } from "./balancing.ts";
import { choiceText, convertDuration } from "./values.ts";
import type { ImportReport } from "./note.ts";
import { convertPolicy } from "./policy.ts";
import { convertRouting } from "./routing.ts";
import { secretFile, secretSetting } from "./secret.ts";
import { convertLiteral, convertTemplate } from "./template.ts";

/** Their content is now in the policy. */
const IN_POLICY = new Set([
  "policy",
  "allow_any_authenticated_user",
  "allow_public_unauthenticated_access",
  "allowed_domains",
  "allowed_groups",
  "allowed_idp_claims",
  "allowed_users",
  "cors_allow_preflight",
  "sub_policies",
  "tls_downstream_client_ca",
  "tls_downstream_client_ca_file",
]);

/** Keys that select the route's requests, or their upstream: without them it would be another route. */
const ESSENTIAL = new Set([
  "redirect",
  "regex",
  "response",
  "prefix_rewrite",
  "regex_rewrite_pattern",
  "regex_rewrite_substitution",
  "kubernetes_service_account_token",
  "kubernetes_service_account_token_file",
  "upstream_tunnel",
]);

/** The same setting under another name, which wins in Pomerium. */
const RENAMED: Readonly<Record<string, string>> = {
  tls_upstream_server_name: "tls_server_name",
  lb_policy: "load_balancing_policy",
};

const fields = new Map(routeFields.map((field) => [field.name, field]));
/** Settings whose values must not be in the output. In Pomerium all are Base64 of PEM. */
const SECRETS = new Set(routeFields.filter(({ kind }) => kind === "secret").map(({ name }) => name));

const ABOUT_LOSS: Readonly<Record<string, string>> = {
  allow_spdy: "SPDY is not supported",
  allow_upgrades: "only listed upgrades passed there",
  depends_on: "each host has its own sign-in",
  enable_google_cloud_serverless_authentication: "the upstream will reject requests without it",
  idp_client_id: "all routes sign in with the gateway's client",
  idp_client_secret: "all routes sign in with the gateway's client",
  identity_providers: "one identity provider for all routes",
  jwt_groups_filter: "all groups of the user are in the identity header",
  jwt_issuer_format: "the issuer is the host name",
  lb_config: "only weights and policies can be set",
  least_request_lb_config: "the upstream with the fewest requests is used",
  logo_url: "pages show no logos",
  ring_hash_lb_config: "the ring has a fixed size",
  tls_downstream_server_name: "the certificate is chosen by the host of from",
  tls_upstream_allow_renegotiation: "connections to upstreams are never renegotiated",
};

/** Upstreams must read another header and verify it with other keys. */
export const IDENTITY_HEADER = "the header is X-Gateway-Assertion, its keys at /.well-known/gateway/jwks.json";

export interface ConvertedRoute {
  readonly name: string;
  readonly doc: Members;
}

/** @returns undefined when the route was not converted, which was reported */
export function convertRoute(route: Members, name: string, report: ImportReport): ConvertedRoute | undefined {
  const place = `route "${name}"`;
  const refusal = cannotCarry(route);
  if (refusal !== undefined) {
    report("lost", place, `the whole route, because ${refusal}`);
    return undefined;
  }
  const doc: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(renamed(convertRouting(route, place, report)))) {
    if (value === null || value === undefined || key === "name" || IN_POLICY.has(key)) continue;
    const base = key.replace(/_file$/, "");
    if (SECRETS.has(key)) Object.assign(doc, secretSetting(key, value, `${place}, ${key}`, report, "the decoded PEM"));
    else if (SECRETS.has(base)) Object.assign(doc, secretFile(base, value, `${place}, ${key}`, report));
    else if (fields.has(key)) {
      const converted = convertSetting(key, value, place, report);
      if (converted !== undefined) doc[key] = converted;
    } else reportLoss(key, value, place, report);
  }
  convertRequestHeaders(doc, place, report);
  const { policy, closedBy, differences } = convertPolicy(route);
  if (policy !== undefined) doc["policy"] = policy;
  for (const reason of closedBy) {
    report("lost", place, `${reason}; the route denies all requests until you decide`);
  }
  if (route["pass_identity_headers"] === true) report("differs", `${place}, pass_identity_headers`, IDENTITY_HEADER);
  for (const difference of differences) report("differs", "policies", difference);
  if (typeof doc["prefix"] === "string" && !doc["prefix"].endsWith("/")) {
    report("differs", place, `prefix "${doc["prefix"]}" matches whole segments here: not "${doc["prefix"]}x"`);
  }
  return { name, doc };
}

function renamed(route: Members): Members {
  const result: Record<string, unknown> = { ...route };
  for (const [theirs, ours] of Object.entries(RENAMED)) {
    if (route[theirs] !== undefined && route[theirs] !== null && route[theirs] !== "") result[ours] = route[theirs];
    delete result[theirs];
  }
  return result;
}

function cannotCarry(route: Members): string | undefined {
  const { from, to, mcp } = route;
  if (typeof from !== "string") return '"from" is missing';
  if (!/^https?:\/\//.test(from)) return `"from" is "${from}", and only https and http are served`;
  const read = parseFrom(from);
  if (!read.ok) return `"from" ${read.problem}`;
  const essential = Object.keys(route).find((key) => ESSENTIAL.has(key) && !fields.has(key));
  if (essential !== undefined)
    return `"${essential}" has no equivalent, and the route would behave differently without it`;
  const answers = isRecord(route["redirect"]) || isRecord(route["response"]);
  if (!answers && (to === undefined || to === null)) return '"to" is missing';
  if (isRecord(mcp) && mcp["server"] !== undefined && mcp["client"] !== undefined) {
    return "it is an MCP server and an MCP client; make two routes of it";
  }
  return undefined;
}

function reportLoss(key: string, value: unknown, place: string, report: ImportReport): void {
  // Off is the default here.
  if (value === false || value === "") return;
  report("lost", `${place}, ${key}`, ABOUT_LOSS[key] ?? "no such setting");
}

function convertSetting(key: string, value: unknown, place: string, report: ImportReport): unknown {
  switch (key) {
    case "bearer_token_format":
      return convertBearerFormat(value, place, report);
    case "timeout":
    case "idle_timeout":
      return convertDuration(value, `${place}, ${key}`, report);
    case "set_response_headers":
      return convertResponseHeaders(value, place, report);
    case "rewrite_response_headers":
      return Array.isArray(value) ? value.map(convertRewrite) : value;
    case "mcp":
      return convertMcp(value, place, report);
    default:
      return isBalancingSetting(key) ? convertBalancing(key, value, place, report) : value;
  }
}

/** A header whose value cannot be generated here is removed from requests: otherwise the client could set it. */
function convertRequestHeaders(doc: Record<string, unknown>, place: string, report: ImportReport): void {
  const headers = doc["set_request_headers"];
  if (!isRecord(headers)) return;
  const kept: Record<string, unknown> = {};
  const removed: string[] = [];
  for (const [name, text] of Object.entries(headers)) {
    const converted = typeof text === "string" ? convertTemplate(text) : undefined;
    if (converted?.ok === false) {
      removed.push(name);
      const references = converted.unknown.join(", ");
      const what = `${references} has no equivalent; requests are sent without this header until you decide`;
      report("lost", `${place}, set_request_headers, ${name}`, what);
    } else kept[name] = converted?.text ?? text;
  }
  reportCredentials(kept, place, report);
  if (removed.length === 0) return void (doc["set_request_headers"] = kept);
  const listed = doc["remove_request_headers"];
  doc["remove_request_headers"] = [...new Set([...(Array.isArray(listed) ? (listed as unknown[]) : []), ...removed])];
  if (Object.keys(kept).length > 0) doc["set_request_headers"] = kept;
  else delete doc["set_request_headers"];
}

function convertBearerFormat(value: unknown, place: string, report: ImportReport): unknown {
  const format = choiceText(value);
  if (format === "jwt") {
    report(
      "lost",
      `${place}, bearer_token_format`,
      '"jwt": write the identity providers as identity_issuers with the use workload, and what each can access',
    );
    return undefined;
  }
  if (format !== "default")
    report(
      "differs",
      `${place}, bearer_token_format`,
      "the token is removed before the upstream; its audience is checked",
    );
  return format;
}

function reportCredentials(headers: Members, place: string, report: ImportReport): void {
  for (const [name, text] of Object.entries(headers)) {
    const where = `${place}, set_request_headers, ${name}`;
    if (typeof text !== "string") continue;
    if (text.includes("${gateway.jwt}"))
      report("differs", where, "the token is signed by other keys, those of /.well-known/gateway/jwks.json");
    // A header is not a secret setting, so its text is copied; reviewers of the program should know.
    if (!text.includes("${gateway.") && /authorization|cookie|token|secret|api-?key/i.test(name))
      report("secret", where, "copied unchanged; remove it if it is a credential");
  }
}

function convertResponseHeaders(value: unknown, place: string, report: ImportReport): unknown {
  if (isRecord(value) && "disable" in value) {
    const where = `${place}, set_response_headers`;
    report("lost", where, '"disable": the headers set for all routes are also sent on this one');
    const { disable: _, ...rest } = value;
    return Object.keys(rest).length > 0 ? mapTexts(rest, convertLiteral) : undefined;
  }
  return mapTexts(value, convertLiteral);
}

function convertRewrite(rule: unknown): unknown {
  if (!isRecord(rule)) return rule;
  const { value } = rule;
  return { prefix: "", ...rule, ...(typeof value === "string" && { value: convertLiteral(value) }) };
}

function convertMcp(value: unknown, place: string, report: ImportReport): unknown {
  if (!isRecord(value) || !isRecord(value["server"])) return isRecord(value) ? onlyMembers(value) : value;
  const { upstream_oauth2: oauth, ...server } = value["server"];
  report("differs", place, "bodies larger than max_request_bytes are rejected with 413; there they pass uninspected");
  if (!isRecord(oauth)) return { server };
  const { client_secret: secret, oauth2_endpoint: otherName, endpoint = otherName, ...rest } = oauth;
  return {
    server: {
      ...server,
      upstream_oauth2: {
        ...rest,
        ...(endpoint !== undefined && { endpoint }),
        ...secretSetting("client_secret", secret, `${place}, client_secret`, report),
      },
    },
  };
}

/** `client:` with nothing after it is an empty block. */
function onlyMembers(value: Members): Members {
  return Object.fromEntries(Object.entries(value).map(([name, block]) => [name, block ?? {}]));
}

export function mapTexts(value: unknown, change: (text: string, name: string) => string): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [name, typeof text === "string" ? change(text, name) : text]),
  );
}
