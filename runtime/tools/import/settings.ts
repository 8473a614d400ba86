/** Pomerium's global keys → our dynamic settings; those of a process are in boot.ts. */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { settingsFields } from "../../config/settings.ts";
import { claimHeaderProblems } from "../../features/headers/upstream-claims.ts";
import { isBootKey } from "./boot.ts";
import { choiceText, convertDuration } from "./values.ts";
import type { ImportReport } from "./note.ts";
import { IDENTITY_HEADER, mapTexts } from "./route.ts";
import { isWritten, secretFile, secretSetting } from "./secret.ts";
import { convertLiteral } from "./template.ts";

const live = settingsFields.filter(({ scope }) => scope === "live");
const LIVE = new Set(live.map(({ name }) => name));
const CHOICES = new Set(live.filter(({ kind }) => kind === "choice").map(({ name }) => name));

/** The same setting under another name. */
const RENAMED: Readonly<Record<string, string>> = { cookie_expire: "cookie_expiration" };

/** Issuers of Pomerium's named identity providers. */
const ISSUERS: Readonly<Record<string, string>> = {
  google: "https://accounts.google.com",
  gitlab: "https://gitlab.com",
  apple: "https://appleid.apple.com",
};

/** Domain of the sign-in service that Pomerium's makers run. */
const HOSTED = ".pomerium.app";

/** Pomerium's named providers for which there is a recipe, with further settings. */
const RECIPES: Readonly<Record<string, string>> = {
  auth0: "auth0",
  azure: "entra",
  github: "github",
  google: "google",
  okta: "okta",
};

const ONE_PROCESS = "one process runs everything";
const ABOUT_LOSS: Readonly<Record<string, string>> = {
  authenticate_callback_path: "the provider redirects users to /.gateway/callback",
  authorize_service_url: ONE_PROCESS,
  cookie_domain: "each host has its own cookie",
  cookie_http_only: "scripts can never read the session cookie",
  cookie_secret: "made from shared_secret",
  cookie_secret_file: "made from shared_secret",
  databroker_service_url: ONE_PROCESS,
  dns_lookup_family: "the system decides",
  forward_auth_url: "the gateway is a proxy itself",
  idp_service_account: "no directory is queried; groups come from a claim (idp_groups_claim)",
  jwt_groups_filter: "all groups of the user are in the identity header",
  jwt_issuer_format: "the issuer is the host name",
  metrics_address: "/metrics of admin_address, with admin_token",
  services: ONE_PROCESS,
  signing_key_algorithm: "ES256",
};

/** Without effect in both products. */
const SILENT: ReadonlySet<string> = new Set(["cookie_secure", "autocert_dir", "pomerium_debug", "debug"]);

/**
 * @param routes as converted
 * @returns dynamic settings
 */
export function convertSettings(config: Members, routes: readonly Members[], report: ImportReport): Members {
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key === "routes" || key === "policy" || value === null || isBootKey(key)) continue;
    Object.assign(settings, convertOne(key, value, config, report));
  }
  keepDefaults(settings, config, routes, report);
  if (isWritten(settings["idp_client_id"])) reportCallback(config, report);
  return settings;
}

function reportCallback(config: Members, report: ImportReport): void {
  const { authenticate_service_url: url } = config;
  const isOwn = typeof url === "string" && !url.includes(HOSTED);
  const address = `${isOwn ? url.replace(/\/+$/, "") : "https://<host of each route>"}/.gateway/callback`;
  report("todo", "idp_client_id", `add the redirect URI ${address} at the identity provider`);
}

function convertOne(key: string, value: unknown, config: Members, report: ImportReport): Members {
  switch (key) {
    case "idp_provider":
      return issuerOf(String(value), config, report);
    case "authenticate_service_url":
      if (!String(value).includes(HOSTED)) return { [key]: value };
      report("lost", key, "the hosted sign-in service: set your own identity provider; until then no user can sign in");
      return {};
    case "idp_client_secret":
      // In Pomerium the file wins.
      if (isWritten(config["idp_client_secret_file"])) return {};
      return secretSetting(key, value, key, report);
    case "idp_client_secret_file":
      return secretFile("idp_client_secret", value, key, report);
    case "runtime_flags":
      return runtimeFlags(value, report);
    case "headers":
    case "set_response_headers":
      return isRecord(value) && "disable" in value ? {} : { set_response_headers: mapTexts(value, convertLiteral) };
    case "jwt_claims_headers":
      return { [key]: claimHeaders(value, report) };
    case "authorize_log_fields":
      return { [key]: logFields(value, report) };
    default:
  }
  const name = RENAMED[key] ?? key;
  if (LIVE.has(name)) {
    if (name.endsWith("_domains") && JSON.stringify(value).includes('"*')) {
      report("differs", key, '"*.example.com" matches subdomains at any depth here, one level there');
    }
    if (name === "cookie_same_site" && value === "") return {};
    const isDuration = /_(expiration|timeout|lifetime)$/.test(name);
    return { [name]: isDuration ? convertDuration(value, key, report) : CHOICES.has(name) ? choiceText(value) : value };
  }
  const changesNothing = value === false || value === "" || (key === "cookie_http_only" && value === true);
  if (!changesNothing && !SILENT.has(key)) report("lost", key, ABOUT_LOSS[key] ?? "no such setting");
  return {};
}

function issuerOf(provider: string, config: Members, report: ImportReport): Members {
  const recipe = RECIPES[provider];
  if (recipe !== undefined)
    report("todo", "idp_provider", `see examples/identity-providers/${recipe}.yaml for the settings of "${provider}"`);
  if (provider === "oidc" || isWritten(config["idp_provider_url"])) return {};
  const issuer = ISSUERS[provider];
  if (provider === "google") {
    // Google issues refresh tokens only for these parameters; Pomerium has them built in.
    const parameters = config["idp_request_params"] ?? { access_type: "offline", prompt: "select_account consent" };
    return { idp_provider_url: issuer, idp_request_params: parameters };
  }
  if (issuer !== undefined) return { idp_provider_url: issuer };
  report(
    "lost",
    "idp_provider",
    `"${provider}": set idp_provider_url of an OpenID Connect provider; until then no user can sign in`,
  );
  return {};
}

function runtimeFlags(value: unknown, report: ImportReport): Members {
  if (!isRecord(value)) return {};
  const { mcp, mcp_dynamic_client_registration: registration, ...others } = value;
  for (const name of Object.keys(others)) report("lost", `runtime_flags, ${name}`, "no such switch");
  return {
    ...(typeof mcp === "boolean" && { runtime_flags: { mcp } }),
    ...(typeof registration === "boolean" && { mcp_dynamic_registration: registration }),
  };
}

/** A list or a comma separated text of claims, or header name to claim. */
/** In Pomerium, headers name claims of its signed header, as here: those about the user mean the same. */
function claimHeaders(value: unknown, report: ImportReport): unknown {
  const claims = typeof value === "string" ? value.split(",") : value;
  const headers: unknown = Array.isArray(claims)
    ? Object.fromEntries(
        claims.map((claim) => [`X-Pomerium-Claim-${headerCase(String(claim).trim())}`, String(claim).trim()]),
      )
    : value;
  if (!isRecord(headers)) return headers;
  const texts = Object.entries(headers).filter((each): each is [string, string] => typeof each[1] === "string");
  for (const [header, problem] of claimHeaderProblems(Object.fromEntries(texts), []))
    report("lost", "jwt_claims_headers", `${JSON.stringify(header)} ${problem}`);
  return headers;
}

function headerCase(claim: string): string {
  return claim
    .split(/[-_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("-");
}

function logFields(value: unknown, report: ImportReport): unknown {
  if (!Array.isArray(value)) return value;
  const known = new Set(settingsFields.find(({ name }) => name === "authorize_log_fields")?.itemValues);
  const [kept, lost] = [
    value.filter((name) => known.has(String(name))),
    value.filter((name) => !known.has(String(name))),
  ];
  if (lost.length > 0) report("lost", "authorize_log_fields", `records have no ${lost.join(", ")}`);
  return kept;
}

/** Writes defaults explicitly where the two products differ. */
function keepDefaults(
  settings: Record<string, unknown>,
  config: Members,
  routes: readonly Members[],
  report: ImportReport,
): void {
  settings["pass_identity_headers"] ??= false;
  if (settings["pass_identity_headers"] === true) {
    report("differs", "pass_identity_headers", IDENTITY_HEADER);
  }
  if (config["set_response_headers"] === undefined && config["headers"] === undefined) {
    settings["set_response_headers"] = { "X-Frame-Options": "SAMEORIGIN", "X-XSS-Protection": "1; mode=block" };
  }
  const mcp = routes.flatMap(({ mcp }) => (isRecord(mcp) ? [mcp] : []));
  if (mcp.length > 0) settings["runtime_flags"] ??= { mcp: true };
  if (!mcp.some(({ server }) => server !== undefined) || settings["mcp_dynamic_registration"] !== undefined) return;
  settings["mcp_dynamic_registration"] = false;
  const how = "there clients register only with its flag; true lets clients without a document connect";
  report("differs", "mcp_dynamic_registration", how);
}
