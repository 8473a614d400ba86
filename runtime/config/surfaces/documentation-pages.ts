/**
 * Where errors are documented: the one mapping of codes to pages. Settings: config/surfaces/documentation.ts. All are
 * paths in the package, since no published address is known here.
 */

/** Start of the line below an error. */
export const DOCUMENTATION = "Documentation: ";

/** Page of settings. Each row has an anchor on the documentation site. */
export const SETTINGS_PAGE = "runtime/REFERENCE.md";

/** Page of the settings of MCP routes. */
export const MCP_SETTINGS_PAGE = "runtime/reference/mcp-servers.md";

/** Cause and fix of each `error` of the admin listener. */
export const ADMIN_ERROR_DOCS = "runtime/reference/errors.md#admin-listener";

/** The part of a `GatewayError` code before the dot → page of its commands. */
export const COMMAND_PAGES: Readonly<Record<string, string>> = {
  admin: "runtime/operations/admin-listener.md",
  audit: "runtime/operations/audit.md",
  config: SETTINGS_PAGE,
  doctor: "runtime/guide/mcp-clients.md#troubleshoot",
  explain: "runtime/guide/policy.md",
  http: "runtime/operations/deploy.md",
  identity: "runtime/operations/incidents.md",
  idp: "runtime/guide/identity-providers.md",
  import: "runtime/guide/migrate.md",
  ingress: "runtime/guide/kubernetes.md",
  keys: "runtime/operations/rotate-keys.md",
  kube: "runtime/guide/kubernetes.md",
  policy: "runtime/guide/policy.md",
  record: "runtime/operations/records.md",
  "record-sink": "runtime/operations/record-sinks.md#troubleshoot",
  records: "runtime/operations/records.md",
  replay: "runtime/guide/introduce-policy.md",
  store: "runtime/operations/failure-modes.md",
  tools: "runtime/guide/tool-lock.md",
  users: "runtime/guide/introduce-policy.md",
  vault: "runtime/operations/secret-store.md#when-the-server-is-unavailable",
  workers: "runtime/operations/high-availability.md",
};

/** Documentation of an error of a command. @param code of a `GatewayError` */
export function docsOfCommandError(code: string): string | undefined {
  const [word = ""] = code.split(".");
  return COMMAND_PAGES[word];
}

/** Anchor of a table row, by the text of its first cell: `health_checks[].interval` → health_checks.interval */
export function rowAnchor(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/\[\]|[<>]/g, "")
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
    .replaceAll(/^-+|-+$/g, "");
}
