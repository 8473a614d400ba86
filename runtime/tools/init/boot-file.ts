/** gateway.yaml and gateway.env of `gateway init`. */
import { randomBytes } from "node:crypto";

import { isLocal, type InitAnswers } from "./questions.ts";

/** YAML strings are JSON strings. */
const text = (value: string): string => JSON.stringify(value);

export function bootFile(answers: InitAnswers): string {
  const { certificates, operator, signIn, storage, program } = answers;
  const lines = [
    "# Main configuration file of the gateway. Secrets are in gateway.env.",
    "# Validate it: gateway check gateway.yaml. All settings: gateway reference.",
    `address: ${text(addressOf(answers))}`,
    ...certificateLines(answers),
    "# All keys derive from it: back it up. Without it each start ends all sessions.",
    `shared_secret_ref: ${secretRef(answers, "SHARED_SECRET")}`,
    "",
    "# Sessions, grants and published configuration.",
    storage === "postgres"
      ? `storage_url_ref: ${secretRef(answers, "STORAGE_URL")}`
      : `storage_url: ${text(storage === "memory" ? "memory:" : sqlitePath(answers))}`,
    "",
    "# Health, metrics, status and publishing. Never reachable from the internet.",
    `admin_address: ${text(answers.target === "compose" || answers.target === "kubernetes" ? ":9901" : "127.0.0.1:9901")}`,
    `admin_token_ref: ${secretRef(answers, "ADMIN_TOKEN")}`,
    "",
    "# Sign-in and consent pages share no host with applications.",
    `# Redirect URI to register at the provider: ${signIn}/.gateway/callback`,
    `authenticate_service_url: ${text(signIn)}`,
    ...providerLines(answers),
    "",
    ...(operator === ""
      ? []
      : [
          "# Decisions, for the console and gateway records.",
          "record_store: {}",
          `# ${signIn}/.gateway/console/`,
          "console:",
          `  operator: { allow: { and: [{ email: { is: ${text(operator)} } }] } }`,
          "",
        ]),
    ...(certificates === "none" && !isLocal(answers.url)
      ? ["# The proxy in front sets X-Forwarded-For; the last address is the client's.", "xff_num_trusted_hops: 1", ""]
      : []),
    ...mcpLines(answers),
    ...(program === "none" ? routeLines(answers) : ["# Routes come from the program next to this file.", "routes: []"]),
  ];
  return `${lines.join("\n")}\n`;
}

function addressOf({ target, url }: InitAnswers): string {
  if (target === "kubernetes") return ":8443";
  const { port, protocol } = new URL(url);
  const number = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  return target === "local" && isLocal(url) ? `127.0.0.1:${number}` : `:${number}`;
}

function certificateLines({ certificates, target, url, operator }: InitAnswers): readonly string[] {
  if (certificates === "acme")
    return [
      "# Certificates of Let's Encrypt for all hosts, requested and renewed by the gateway. Port 443 must be reachable.",
      operator === "" ? "acme: {}" : `acme: { email: ${text(operator)} }`,
    ];
  if (certificates === "files") {
    const folder = FOLDERS[target];
    return [
      "# For all hosts of routes and the sign-in pages. Changed files are read again without a restart.",
      `certificates: [{ certificate_file: ${folder}tls.crt, certificate_key_file: ${folder}tls.key }]`,
    ];
  }
  return isLocal(url)
    ? ["# Plain HTTP, for this machine only.", "insecure_server: true", "development: true"]
    : ["# A proxy in front terminates TLS.", "insecure_server: true"];
}

const FOLDERS: Readonly<Record<InitAnswers["target"], string>> = {
  local: "",
  systemd: "/etc/gateway-secrets/",
  compose: "/etc/gateway/",
  kubernetes: "/etc/gateway/tls/",
};

function sqlitePath({ target }: InitAnswers): string {
  if (target === "systemd") return "sqlite:/var/lib/gateway/gateway.db";
  return target === "compose" ? "sqlite:/data/gateway.db" : "sqlite:gateway.db";
}

function secretRef({ target }: InitAnswers, name: string): string {
  return target === "kubernetes" ? `file:/etc/gateway/secret/${name}` : `env:${name}`;
}

function providerLines(answers: InitAnswers): readonly string[] {
  const { issuer, clientId } = answers;
  const isGoogle = issuer === "https://accounts.google.com";
  return [
    `idp_provider_url: ${text(issuer)}`,
    `idp_client_id: ${text(clientId)}`,
    `idp_client_secret_ref: ${secretRef(answers, "IDP_CLIENT_SECRET")}`,
    // Google has no scope for refresh tokens.
    ...(isGoogle ? ["idp_request_params: { access_type: offline, prompt: consent }"] : []),
  ];
}

function mcpLines({ kind, to }: InitAnswers): readonly string[] {
  if (kind !== "mcp") return [];
  return [
    "runtime_flags: { mcp: true }",
    "# Clients that identify themselves by a document at their own domain: the well-known ones.",
    "mcp_allowed_client_id_domains: [known-clients]",
    "# Servers that may be asked whether they want OAuth of their own.",
    `mcp_allowed_as_metadata_domains: [${text(new URL(to).hostname)}]`,
    "",
  ];
}

function routeLines({ url, to, kind, domain }: InitAnswers): readonly string[] {
  const { origin, pathname } = new URL(to);
  const path = pathname === "/" ? "" : ` path: ${text(pathname)} `;
  return [
    "routes:",
    "  - name: first",
    `    from: ${text(url)}`,
    `    to: ${text(kind === "mcp" ? origin : to)}`,
    ...(kind === "mcp" ? [`    mcp: { server: {${path}} }`] : []),
    "    policy:",
    `      - allow: { and: [${domain === "" ? "{ authenticated_user: true }" : `{ domain: { is: ${text(domain)} } }`}] }`,
  ];
}

/** @param clientSecret "" if it is to be filled in */
export function secretsFile({ storage }: InitAnswers, clientSecret: string): string {
  const secret = (): string => randomBytes(32).toString("base64");
  const lines = [
    `SHARED_SECRET=${secret()}`,
    `ADMIN_TOKEN=${randomBytes(32).toString("base64url")}`,
    `IDP_CLIENT_SECRET=${clientSecret}`,
    ...(storage === "postgres" ? ["STORAGE_URL=postgres://gateway:PASSWORD@postgres.example.com/gateway"] : []),
  ];
  return `${lines.join("\n")}\n`;
}
