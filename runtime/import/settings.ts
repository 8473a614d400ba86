/** Pomerium's global keys → our live settings; what belongs into the boot file is only told. */
import { type Members, isMembers } from "../config/problem.ts";
import { settingsFields } from "../config/settings.ts";
import { convertDuration } from "./duration.ts";
import type { Report } from "./note.ts";
import { IDENTITY_HEADER, mapTexts } from "./route.ts";
import { secretFile, secretSetting } from "./secret.ts";
import { convertLiteral } from "./template.ts";

const LIVE = new Set(settingsFields.filter(({ scope }) => scope === "live").map(({ name }) => name));

/** The same setting under another name. */
const RENAMED: Readonly<Record<string, string>> = { cookie_expire: "cookie_expiration" };

/** Issuers of identity providers that Pomerium knows by name. */
const ISSUERS: Readonly<Record<string, string>> = {
  google: "https://accounts.google.com",
  gitlab: "https://gitlab.com",
  apple: "https://appleid.apple.com",
};

/** Domain of the sign-in service that Pomerium's makers run. */
const HOSTED = ".pomerium.app";

/** Key → the line of the boot file, "" when the value is a secret or a path that only its owner can judge. */
const BOOT: Readonly<Record<string, string>> = {
  address: "address",
  insecure_server: "insecure_server",
  log_level: "log_level",
  use_proxy_protocol: "use_proxy_protocol",
  xff_num_trusted_hops: "xff_num_trusted_hops",
  skip_xff_append: "skip_xff_append",
  http_redirect_addr: "http_redirect_address",
  shared_secret: "",
  shared_secret_file: "",
  signing_key: "",
  signing_key_file: "",
};

const ABOUT_LOSS: Readonly<Record<string, string>> = {
  autocert: "certificates are not fetched; put TLS in front, or give files",
  certificate_authority: "upstreams are reached with the system's certificate authorities",
  cookie_domain: "each host has its own cookie",
  cookie_secret: "made from shared_secret",
  downstream_mtls: "no client certificates",
  dns_lookup_family: "the system decides",
  jwt_groups_filter: "all groups of the user are in the identity header",
  jwt_issuer_format: "the issuer is the host name",
  signing_key_algorithm: "ES256",
};

/** @returns live settings */
export function convertSettings(config: Members, hasMcpRoutes: boolean, report: Report): Members {
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key === "routes" || key === "policy" || value === null) continue;
    Object.assign(settings, convertOne(key, value, config, report));
  }
  keepDefaults(settings, config, hasMcpRoutes, report);
  return settings;
}

function convertOne(key: string, value: unknown, config: Members, report: Report): Members {
  switch (key) {
    case "idp_provider":
      return issuerOf(String(value), config, report);
    case "authenticate_service_url":
      if (!String(value).includes(HOSTED)) return { [key]: value };
      report(
        "lost",
        key,
        "the hosted sign-in service: give an identity provider of your own, until then nobody signs in",
      );
      return {};
    case "idp_client_secret":
      return secretSetting(key, value, key, report);
    case "idp_client_secret_file":
      return secretFile("idp_client_secret", value, key, report);
    case "runtime_flags":
      return runtimeFlags(value, report);
    case "set_response_headers":
      return isMembers(value) && "disable" in value ? {} : { [key]: mapTexts(value, convertLiteral) };
    case "jwt_claims_headers":
      return { [key]: claimHeaders(value) };
    case "authorize_log_fields":
      return { [key]: logFields(value, report) };
    default:
  }
  const name = RENAMED[key] ?? key;
  if (LIVE.has(name)) {
    if (name.endsWith("_domains") && JSON.stringify(value).includes('"*')) {
      report("differs", key, '"*.example.com" matches subdomains at any depth here, one level there');
    }
    return { [name]: /_(expiration|timeout|lifetime)$/.test(name) ? convertDuration(value, key, report) : value };
  }
  if (key in BOOT) bootNote(key, value, report);
  else if (key.startsWith("databroker_storage")) report("boot", key, "storage_url: sqlite:PATH or postgres://…");
  else if (/^(certificate|certificates|certificate_file|certificate_key.*)$/.test(key)) {
    report("boot", key, "insecure_server: true behind something that terminates TLS");
  } else report("lost", key, ABOUT_LOSS[key] ?? "no such setting");
  return {};
}

function bootNote(key: string, value: unknown, report: Report): void {
  const name = BOOT[key] ?? "";
  if (name !== "") return report("boot", key, `${name}: ${JSON.stringify(value)}`);
  const base = key.replace(/_file$/, "");
  return report(
    "boot",
    key,
    `${base}_ref: env:NAME or file:/path; a new one ends all sign-ins and is safer than a copy`,
  );
}

function issuerOf(provider: string, config: Members, report: Report): Members {
  if (provider === "oidc" || typeof config["idp_provider_url"] === "string") return {};
  const issuer = ISSUERS[provider];
  if (provider === "google") {
    // Google gives refresh tokens only to who asks in its own way; there this was built in.
    const asked = config["idp_request_params"] ?? { access_type: "offline", prompt: "select_account consent" };
    return { idp_provider_url: issuer, idp_request_params: asked };
  }
  if (issuer !== undefined) return { idp_provider_url: issuer };
  report(
    "lost",
    "idp_provider",
    `"${provider}": give idp_provider_url of an OpenID Connect provider; until then nobody can sign in`,
  );
  return {};
}

function runtimeFlags(value: unknown, report: Report): Members {
  if (!isMembers(value)) return {};
  const { mcp, ...others } = value;
  for (const name of Object.keys(others)) report("lost", `runtime_flags, ${name}`, "no such switch");
  return typeof mcp === "boolean" ? { runtime_flags: { mcp } } : {};
}

/** A list or a comma separated text of claims, or header name to claim. */
function claimHeaders(value: unknown): unknown {
  if (isMembers(value)) return value;
  const claims = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(claims)) return value;
  return Object.fromEntries(
    claims.map((claim) => [`X-Pomerium-Claim-${headerCase(String(claim).trim())}`, String(claim).trim()]),
  );
}

function headerCase(claim: string): string {
  return claim
    .split(/[-_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("-");
}

function logFields(value: unknown, report: Report): unknown {
  if (!Array.isArray(value)) return value;
  const doc = settingsFields.find(({ name }) => name === "authorize_log_fields")?.doc ?? "";
  const known = new Set(doc.slice(doc.indexOf(":") + 1).match(/[a-z-]+/g));
  const [kept, lost] = [
    value.filter((name) => known.has(String(name))),
    value.filter((name) => !known.has(String(name))),
  ];
  if (lost.length > 0) report("lost", "authorize_log_fields", `records have no ${lost.join(", ")}`);
  return kept;
}

/** Where nothing was written and the two products mean different things by that, it is written now. */
function keepDefaults(settings: Record<string, unknown>, config: Members, hasMcpRoutes: boolean, report: Report): void {
  settings["pass_identity_headers"] ??= false;
  if (settings["pass_identity_headers"] === true) {
    report("differs", "pass_identity_headers", IDENTITY_HEADER);
  }
  if (config["set_response_headers"] === undefined) {
    settings["set_response_headers"] = { "X-Frame-Options": "SAMEORIGIN", "X-XSS-Protection": "1; mode=block" };
  }
  if (hasMcpRoutes && settings["runtime_flags"] === undefined) settings["runtime_flags"] = { mcp: true };
}
