/** Compiles MCP settings of a route. */
import type { McpDoc } from "./settings.ts";
import type { DirectGrant, McpClient, McpServer, UpstreamOAuth } from "./compiled.ts";
import { compileClientKey } from "../../settings/client-key.ts";
import { parseExtraPath } from "./extra-paths.ts";
import { DEFAULT_MAX_REQUEST_BYTES, type McpServerDoc } from "./settings.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import type { UpstreamReach } from "../connection/compiled.ts";
import { compileGuardrail } from "./guardrail.ts";
import { compileHistoryRules } from "./compile-history.ts";
import { compileMembers } from "./members.ts";
import { compileRecordArguments } from "./record-arguments.ts";
import { compileToolScopes } from "./tool-scopes.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { compileToolLock } from "./tool-lock.ts";
import type { UpstreamOAuthDoc } from "./upstream-oauth.ts";

/** @param owner of the route @param reach networks that its addresses may be in */
export function compileMcp(
  doc: McpDoc,
  address: string,
  { owner, reach }: { readonly owner: string; readonly reach?: UpstreamReach | undefined },
  secrets: SecretSource,
): McpServer | McpClient | undefined {
  if (doc.mcp?.client) return { kind: "client" };
  const server = doc.mcp?.server;
  if (!server) return undefined;
  const path = trimSlash(server.path ?? "");
  const toolLock = compileToolLock(server.tool_lock, address + path, secrets);
  return {
    kind: "server",
    members: compileMembers(server, owner),
    resourcePrefixes: Object.entries(server.resource_prefixes ?? {}),
    searchToolsAbove: server.search_tools_above,
    path,
    extraPaths: (server.extra_paths ?? []).map(parseExtraPath),
    maxRequestBytes: server.max_request_bytes ?? DEFAULT_MAX_REQUEST_BYTES,
    filtersLists: server.filter_lists ?? true,
    toolLock,
    toolScopes: compileToolScopes(server.tool_scopes),
    recordArguments: compileRecordArguments(server.record_arguments),
    historyRules: compileHistoryRules(server.history_rules, toolLock?.classes),
    guardrail: compileGuardrail(server.guardrail, secrets, reach),
    resource: address + path,
    dpop: server.dpop,
    dpopNonce: server.dpop_nonce ?? false,
    upstreamOAuth: compileUpstreamOAuth(server, secrets),
    authorizationServerUrl: server.authorization_server_url,
    allowedApplications: server.allowed_applications ?? [],
    introspectionAccounts: server.introspection_accounts ?? [],
  };
}

function compileUpstreamOAuth(server: McpServerDoc, secrets: SecretSource): UpstreamOAuth | undefined {
  const oauth = server.upstream_oauth2;
  if (!oauth) return undefined;
  const { endpoint } = oauth;
  return {
    clientId: oauth.client_id,
    clientSecret: secretValues(oauth, "client_secret", secrets)[0],
    clientKey: compileClientKey(oauth, "client_key", "upstream_oauth2", secrets),
    endpoint: endpoint && { authUrl: endpoint.auth_url, tokenUrl: endpoint.token_url },
    authStyle: endpoint?.auth_style,
    scopes: oauth.scopes ?? [],
    authorizationUrlParams: new Map(Object.entries(oauth.authorization_url_params ?? {})),
    direct: compileDirect(oauth, secrets),
    resource: oauth.resource,
    sendsResource: oauth.send_resource !== false,
  };
}

/** The rules permit only one of them. @throws GatewayError `config.secret` */
function compileDirect(oauth: UpstreamOAuthDoc, secrets: SecretSource): DirectGrant | undefined {
  const { id_jag: idJag, workload, client_credentials: credentials, scopes = [] } = oauth;
  if (idJag) return { kind: "id_jag", scopes: idJag.scopes ?? scopes };
  if (credentials === true) return { kind: "client_credentials" };
  const [assertion] = workload ? secretValues(workload, "assertion", secrets) : [];
  return assertion === undefined ? undefined : { kind: "workload", assertion };
}
