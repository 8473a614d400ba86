/** Settings to check if an upstream's authorization server rejects the gateway. */
import type { OAuthSettings } from "../../../shared/http/oauth-error.ts";

export const UPSTREAM_SETTINGS: OAuthSettings = {
  client: "client_id and client_secret in upstream_oauth2",
  scopes: "scopes in upstream_oauth2",
  parameters: "authorization_url_params in upstream_oauth2",
  resource: "send_resource: false in upstream_oauth2",
  redirectUri: "the route's /.gateway/mcp/callback",
};
