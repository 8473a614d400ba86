/** MCP settings of a route → their compiled form. */
import type { McpDoc } from "./settings.ts";
import type { McpClient, McpServer, UpstreamOAuth } from "./compiled.ts";
import { parseExtraPath } from "./extra-paths.ts";
import { DEFAULT_MAX_REQUEST_BYTES, type McpServerDoc } from "./settings.ts";
import { type SecretSource, secretValues } from "../../settings/secret-spellings.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

export function compileMcp(doc: McpDoc, address: string, secrets: SecretSource): McpServer | McpClient | undefined {
  if (doc.mcp?.client) return { kind: "client" };
  const server = doc.mcp?.server;
  if (!server) return undefined;
  const path = trimSlash(server.path ?? "");
  return {
    kind: "server",
    path,
    extraPaths: (server.extra_paths ?? []).map(parseExtraPath),
    maxRequestBytes: server.max_request_bytes ?? DEFAULT_MAX_REQUEST_BYTES,
    resource: address + path,
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
    endpoint: endpoint && { authUrl: endpoint.auth_url, tokenUrl: endpoint.token_url },
    authStyle: endpoint?.auth_style,
    scopes: oauth.scopes ?? [],
    authorizationUrlParams: new Map(Object.entries(oauth.authorization_url_params ?? {})),
  };
}
