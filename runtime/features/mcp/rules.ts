/** Rules between the members of a route's `mcp` block, D5. */
import { below, errorAt, warningAt, type Report } from "../../settings/problem.ts";
import { toolScopesProblem } from "./tool-scopes.ts";
import type { McpDoc, McpServerDoc } from "./settings.ts";
import { guardrailRules } from "./guardrail.ts";
import { historyRulesProblems } from "./history-rules.ts";
import { memberRules } from "./members.ts";
import { recordArgumentsRules } from "./record-arguments.ts";
import { toolLockRules } from "./tool-lock.ts";
import type { UpstreamOAuthDoc } from "./upstream-oauth.ts";
import { hasSecret } from "../../settings/secret-forms.ts";

/** Rules between the members of the block. */
export function mcpRules(mcp: NonNullable<McpDoc["mcp"]>, report: Report): void {
  if (mcp.server && mcp.client) report(errorAt(["mcp"], 'has both "server" and "client", must have exactly one'));
  if (!mcp.server && !mcp.client) report(errorAt(["mcp"], 'is empty, must have "server" or "client"'));
  if (mcp.server) memberRules(mcp.server, (problem) => report(below(["mcp", "server"], problem)));
  const lock = mcp.server?.tool_lock;
  if (lock) toolLockRules(lock, (problem) => report(below(["mcp", "server", "tool_lock"], problem)));
  const scopes = mcp.server?.tool_scopes && toolScopesProblem(mcp.server.tool_scopes);
  if (scopes !== undefined) report(errorAt(["mcp", "server", "tool_scopes"], scopes));
  const recorded = mcp.server?.record_arguments;
  if (recorded)
    recordArgumentsRules(recorded, (problem) => report(below(["mcp", "server", "record_arguments"], problem)));
  if (mcp.server?.dpop_nonce === true && mcp.server.dpop === undefined)
    report(errorAt(["mcp", "server", "dpop_nonce"], 'requires "dpop"'));
  const history = mcp.server?.history_rules;
  if (history) historyRulesProblems(history, (problem) => report(below(["mcp", "server", "history_rules"], problem)));
  const guardrail = mcp.server?.guardrail;
  if (guardrail) guardrailRules(guardrail, (problem) => report(below(["mcp", "server", "guardrail"], problem)));
  const oauth = mcp.server?.upstream_oauth2;
  if (oauth) oauthRules(oauth, (problem) => report(below(OAUTH, problem)));
}

const OAUTH = ["mcp", "server", "upstream_oauth2"];

function oauthRules(oauth: UpstreamOAuthDoc, report: Report): void {
  const hasClient = oauth.client_id !== undefined;
  const credentials = ["client_secret", "client_key"].filter((name) => hasSecret(oauth, name));
  if (credentials.length > 0 && !hasClient) report(errorAt([], `has "${credentials[0]}" but no "client_id"`));
  if (credentials.length > 1) report(errorAt([], 'has "client_secret" and "client_key", must have one of them'));
  if (oauth.endpoint && !hasClient && !oauth.workload) {
    report(errorAt(["endpoint"], 'requires "client_id", or must be removed so that all endpoints are discovered'));
  }
  if (oauth.send_resource === false && oauth.resource !== undefined)
    report(errorAt(["resource"], 'is not sent with "send_resource: false", must be omitted'));
  const [direct, ...others] = DIRECT.filter((name) => oauth[name] !== undefined && oauth[name] !== false);
  for (const other of others) report(errorAt([other], `cannot be combined with "${direct}"`));
  if (direct === undefined) {
    if (oauth.resource !== undefined) report(errorAt(["resource"], 'is for "workload" and "client_credentials" alone'));
    return;
  }
  if (oauth.authorization_url_params)
    report(errorAt(["authorization_url_params"], `applies to connected accounts, which "${direct}" does not use`));
  if (direct !== "workload" && !hasClient) report(errorAt([direct], 'requires "client_id", which requests the tokens'));
  if (direct === "client_credentials" && hasClient && credentials.length === 0)
    report(errorAt([direct], 'requires "client_secret" or "client_key"'));
  if (oauth.workload && !hasSecret(oauth.workload, "assertion")) report(errorAt(["workload"], 'lacks "assertion"'));
  if (!oauth.id_jag) return;
  // Otherwise an author of a route could redirect users' assertions for one server to another, and tokens to any
  // upstream.
  for (const name of ["endpoint", "resource"] as const)
    if (oauth[name] !== undefined)
      report(errorAt([name], 'cannot be combined with "id_jag", for which it is always discovered'));
  const granted = oauth.id_jag.scopes && new Set(oauth.id_jag.scopes);
  const beyond = granted === undefined ? [] : (oauth.scopes ?? []).filter((scope) => !granted.has(scope));
  if (beyond.length > 0)
    report(
      warningAt(["scopes"], `asks the upstream for ${quotedList(beyond)}, which "id_jag.scopes" does not ask for`),
    );
  if (credentials.length === 0)
    report(warningAt(["id_jag"], 'has no "client_secret" or "client_key": most servers reject such clients'));
}

/** Grants without a user who connects an account. */
const DIRECT = ["id_jag", "workload", "client_credentials"] as const;

function quotedList(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

/** True if endpoints come from discovery rather than from the route. */
export function usesDiscovery(server: McpServerDoc): boolean {
  return server.upstream_oauth2?.endpoint === undefined;
}
