/**
 * Pomerium's process settings → the main configuration file: listener, certificates, secrets, storage, traces.
 *
 * Trap: omitting a Pomerium setting that rejects clients would let them in. Such settings are written although the
 * gateway does not know them, so that it rejects the file until an administrator decides.
 */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { quote } from "../../settings/problem.ts";
import { choiceText } from "./values.ts";
import type { ImportReport } from "./note.ts";
import { isWritten, secretFile, secretSetting, secretVariable } from "./secret.ts";
import { convertTracing, isTracingKey } from "./tracing.ts";

/** Pomerium's name → ours, where the value can be copied. */
const PLAIN: Readonly<Record<string, string>> = {
  address: "address",
  insecure_server: "insecure_server",
  use_proxy_protocol: "use_proxy_protocol",
  xff_num_trusted_hops: "xff_num_trusted_hops",
  skip_xff_append: "skip_xff_append",
  http_redirect_addr: "http_redirect_address",
};

const LOG_LEVELS: Readonly<Record<string, string>> = {
  trace: "debug",
  warning: "warn",
  fatal: "error",
  panic: "error",
};

/** Older names of members that are now in `downstream_mtls`. */
const MTLS: Readonly<Record<string, string>> = {
  client_ca: "ca",
  client_ca_file: "ca_file",
  client_crl: "crl",
  client_crl_file: "crl_file",
};

const KEYS: ReadonlySet<string> = new Set([
  ...Object.keys(PLAIN),
  ...Object.keys(MTLS),
  "log_level",
  "shared_secret",
  "shared_secret_file",
  "signing_key",
  "signing_key_file",
  "certificates",
  "certificate",
  "certificate_key",
  "certificate_file",
  "certificate_key_file",
  "certificate_authority",
  "certificate_authority_file",
  "autocert",
  "downstream_mtls",
  "databroker_storage_type",
  "databroker_storage_connection_string",
  "databroker_storage_connection_string_file",
]);

/** Directory for files whose content was in the configuration. */
const DIRECTORY = "/etc/gateway";

export function isBootKey(key: string): boolean {
  return KEYS.has(key) || isTracingKey(key);
}

/** @returns the members of the main configuration file, without dynamic settings and owners */
export function convertBoot(config: Members, report: ImportReport): Members {
  const boot: Record<string, unknown> = {};
  for (const [theirs, ours] of Object.entries(PLAIN)) {
    const value = config[theirs];
    if (isWritten(value) && value !== false && value !== 0) boot[ours] = value;
  }
  if (isWritten(config["log_level"])) {
    const level = String(choiceText(config["log_level"]));
    boot["log_level"] = LOG_LEVELS[level] ?? level;
  }
  Object.assign(boot, convertCertificates(config, boot, report));
  Object.assign(boot, convertMtls(config, report));
  reportAuthorities(config, report);
  boot["admin_token_ref"] = "env:GATEWAY_ADMIN_TOKEN";
  report("secret", "admin_token", "environment variable GATEWAY_ADMIN_TOKEN, a token of your own for publishing");
  Object.assign(boot, convertKeys(config, report), convertStorage(config, report), convertTracing(config, report));
  return boot;
}

function convertCertificates(config: Members, boot: Record<string, unknown>, report: ImportReport): Members {
  if (boot["insecure_server"] === true) {
    // Pomerium's default differs.
    boot["address"] ??= ":443";
    if (boot["http_redirect_address"] !== undefined) {
      delete boot["http_redirect_address"];
      report("lost", "http_redirect_addr", "without certificates there is no https to redirect to");
    }
    return {};
  }
  const pairs: Members[] = [];
  const listed = config["certificates"];
  for (const [at, pair] of (Array.isArray(listed) ? (listed as unknown[]) : []).entries()) {
    const { cert, key } = isRecord(pair) ? pair : {};
    if (typeof cert === "string" && typeof key === "string") {
      pairs.push({ certificate_file: cert, certificate_key_file: key });
    } else report("lost", `certificates[${at}]`, "it lacks cert or key");
  }
  const { certificate_file: file, certificate_key_file: keyFile } = config;
  if (typeof file === "string" && typeof keyFile === "string")
    pairs.push({ certificate_file: file, certificate_key_file: keyFile });
  const isInline = isWritten(config["certificate"]);
  if (isInline || pairs.length === 0) {
    const [certificate, key] = [`${DIRECTORY}/certificate.pem`, `${DIRECTORY}/certificate-key.pem`];
    pairs.push({ certificate_file: certificate, certificate_key_file: key });
    const reason = isInline
      ? "decode its value into these files"
      : "certificates are not fetched here; renew these files by other means, or set insecure_server behind a load balancer";
    report("todo", isInline ? "certificate" : "autocert", `${certificate} and ${key}: ${reason}`);
  }
  return { certificates: pairs };
}

function convertMtls(config: Members, report: ImportReport): Members {
  const older = Object.entries(MTLS).flatMap(([theirs, member]) =>
    isWritten(config[theirs]) ? [[member, config[theirs]] as const] : [],
  );
  const written = isRecord(config["downstream_mtls"]) ? config["downstream_mtls"] : {};
  const settings: Members = { ...Object.fromEntries(older), ...written };
  if (!["ca", "ca_file"].some((name) => isWritten(settings[name]))) {
    if (Object.keys(settings).length > 0)
      report("lost", "downstream_mtls", "there is no CA, so no client was asked for a certificate");
    return {};
  }
  const mtls: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (!isWritten(value)) continue;
    if (name === "ca") {
      mtls["ca_file"] = `${DIRECTORY}/client-authorities.pem`;
      report("todo", "downstream_mtls, ca", `decode its value into ${String(mtls["ca_file"])}`);
    } else if (name === "ca_file") mtls[name] = value;
    else if (name === "enforcement") mtls[name] = choiceText(value);
    else if (name !== "max_verify_depth") {
      mtls[name] = value;
      const what = "it restricts clients there and has no equivalent: the gateway rejects the file until you remove it";
      report("lost", `downstream_mtls, ${name}`, what);
    }
  }
  const depth = settings["max_verify_depth"] ?? 1;
  if (depth !== 0) {
    const there = `there at most ${quote(depth)} between it and the authority`;
    report("differs", "downstream_mtls", `a client's certificate may be signed through any number of others, ${there}`);
  }
  return { downstream_mtls: mtls };
}

/**
 * In Pomerium they are added to the system's authorities, for all outgoing connections; Node.js has an option for the
 * same.
 */
function reportAuthorities(config: Members, report: ImportReport): void {
  const file = config["certificate_authority_file"];
  if (isWritten(config["certificate_authority"])) {
    const path = `${DIRECTORY}/authorities.pem`;
    report(
      "todo",
      "certificate_authority",
      `decode its value into ${path} and start the gateway with NODE_EXTRA_CA_CERTS=${path}`,
    );
  } else if (isWritten(file)) {
    report("todo", "certificate_authority_file", `start the gateway with NODE_EXTRA_CA_CERTS=${String(file)}`);
  }
}

function convertKeys(config: Members, report: ImportReport): Members {
  const shared = config["shared_secret_file"];
  const about = "a new one ends all sessions and is safer than a copy: openssl rand -base64 32";
  const keys = isWritten(shared)
    ? secretFile("shared_secret", shared, "shared_secret_file", report)
    : secretVariable("shared_secret", "shared_secret", report, about);
  const { signing_key: key, signing_key_file: file } = config;
  return {
    ...keys,
    // In Pomerium the file wins.
    ...(isWritten(file)
      ? secretFile("signing_key", file, "signing_key_file", report)
      : secretSetting("signing_key", key, "signing_key", report, "a key of P-256")),
  };
}

function convertStorage(config: Members, report: ImportReport): Members {
  const { databroker_storage_connection_string: dsn, databroker_storage_connection_string_file: file } = config;
  switch (choiceText(config["databroker_storage_type"])) {
    case "postgres":
      if (isWritten(file)) return secretFile("storage_url", file, "databroker_storage_connection_string_file", report);
      return secretVariable("storage_url", "storage_url", report, "as postgres://USER:PASSWORD@HOST/DATABASE");
    case "file": {
      const path = typeof dsn === "string" ? dsn.replace(/^file:\/\//, "").replace(/\/+$/, "") : "";
      return { storage_url: `sqlite:${path === "" ? "" : `${path}/`}gateway.db` };
    }
    case "redis":
      report("lost", "databroker_storage_type", '"redis": the store is SQLite or PostgreSQL (storage_url)');
      return {};
    default:
      return {};
  }
}
