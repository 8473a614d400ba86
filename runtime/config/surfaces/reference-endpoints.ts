/**
 * The gateway's own addresses and its commands' exit codes, for the reference. Tests request each from a running
 * gateway.
 */

export interface ReferenceEndpoint {
  /** A path; on MCP server routes, metadata is also below it and after the route's own path. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly about: string;
}

/** Endpoints of the public listener: on every host with a route, and on that of `authenticate_service_url`. */
export const PUBLIC_ENDPOINTS: readonly ReferenceEndpoint[] = [
  {
    path: "/.gateway/",
    methods: ["GET"],
    about:
      "Portal: servers and web applications of the user; sessions, applications, connections and devices, each revocable.",
  },
  { path: "/.gateway/user", methods: ["GET"], about: "The signed-in user as JSON; otherwise 401." },
  {
    path: "/.gateway/sign_in",
    methods: ["GET"],
    about: "Start of a sign-in, on the host of `authenticate_service_url`.",
  },
  { path: "/.gateway/callback", methods: ["GET"], about: "Redirect URI to register at the identity provider." },
  {
    path: "/.gateway/callback/<name>",
    methods: ["GET"],
    about: "Redirect URI for a provider in `identity_issuers`, by name.",
  },
  { path: "/.gateway/return", methods: ["GET"], about: "End of a sign-in, on the route's host." },
  {
    path: "/.gateway/backchannel_logout",
    methods: ["POST"],
    about: "OIDC back-channel logout for issuers with the use `logout`, on the host of `authenticate_service_url`.",
  },
  {
    path: "/.gateway/global_token_revocation",
    methods: ["POST"],
    about:
      "Global token revocation (Okta Universal Logout), same host and issuers: revokes all access of a user until the next sign-in.",
  },
  {
    path: "/.gateway/scim/v2",
    methods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    about:
      "SCIM 2.0 for the provider of a directory, below `/<name in directories>`, on the host of `authenticate_service_url`.",
  },
  { path: "/.gateway/sign_out", methods: ["GET", "POST"], about: "Confirmation page, then sign-out." },
  {
    path: "/.gateway/signed_out",
    methods: ["GET"],
    about: "Post-logout redirect URI to register at the identity provider.",
  },
  {
    path: "/.gateway/run",
    methods: ["GET", "POST"],
    about: "Decision about an agent run, on the host of `authenticate_service_url`.",
  },
  { path: "/.gateway/icons", methods: ["GET"], about: "Icons of routes (`icon`), by digest below it." },
  {
    path: "/.gateway/own",
    methods: ["POST"],
    about: "Form of the portal: ends a session, an application's access, a remembered consent, a device.",
  },
  {
    path: "/.gateway/api/v1/login",
    methods: ["GET"],
    about: "Programmatic login: returns the URL at which the user signs in.",
  },
  { path: "/.gateway/api/v1/approve", methods: ["GET", "POST"], about: "Consent page of a programmatic login." },
  {
    path: "/.gateway/approval",
    methods: ["GET", "POST"],
    about: "Page for approving or denying a tool call.",
  },
  {
    path: "/.gateway/console/",
    methods: ["GET", "POST"],
    about: "Console, on the host of `authenticate_service_url`. Requires `console`.",
  },
  { path: "/.gateway/webauthn", methods: ["GET", "POST"], about: "Device registration and verification." },
  { path: "/.gateway/webauthn.js", methods: ["GET"], about: "Script of that page." },
  { path: "/.gateway/device-enrolled", methods: ["GET"], about: "Confirmation of a device registration." },
  { path: "/.well-known/gateway/jwks.json", methods: ["GET"], about: "Public keys of the identity header." },
];

/** More endpoints of the public listener, if `runtime_flags.mcp` is true. */
export const MCP_ENDPOINTS: readonly ReferenceEndpoint[] = [
  { path: "/.well-known/oauth-protected-resource", methods: ["GET"], about: "MCP server metadata (RFC 9728)." },
  {
    path: "/.well-known/oauth-authorization-server",
    methods: ["GET"],
    about: "Authorization server metadata (RFC 8414).",
  },
  {
    path: "/.well-known/openid-configuration",
    methods: ["GET"],
    about: "The same metadata, for clients that read this path.",
  },
  { path: "/.gateway/mcp/authorize", methods: ["GET"], about: "Authorization endpoint for MCP clients." },
  { path: "/.gateway/mcp/consent", methods: ["GET", "POST"], about: "Consent page." },
  { path: "/.gateway/mcp/token", methods: ["POST"], about: "Token endpoint." },
  {
    path: "/.gateway/mcp/register",
    methods: ["POST"],
    about: "Dynamic registration (RFC 7591), unless `mcp_dynamic_registration` is `false`.",
  },
  { path: "/.gateway/mcp/revoke", methods: ["POST"], about: "Revocation (RFC 7009)." },
  {
    path: "/.gateway/mcp/introspect",
    methods: ["POST"],
    about:
      "Introspection (RFC 7662) for confidential clients: their own tokens, and all tokens for servers with their service account in `introspection_accounts`.",
  },
  {
    path: "/.gateway/mcp/runs",
    methods: ["GET", "POST", "DELETE"],
    about: "Agent run of the workload whose platform's token is presented: request, state, end.",
  },
  {
    path: "/.gateway/mcp/routes",
    methods: ["GET"],
    about: "MCP servers that the caller can use, for applications and signed-in browsers.",
  },
  {
    path: "/.gateway/registry",
    methods: ["GET"],
    about:
      "Base URL of the MCP registry API 0.1 (`mcp_catalog`), on the host of `authenticate_service_url`: `/v0.1/servers`, `/v0.1/servers/<name>/versions` and `/v0.1/servers/<name>/versions/latest`. Query: `limit` up to 100, `cursor`, `search`, `version`.",
  },
  {
    path: "/.gateway/server-cards",
    methods: ["GET"],
    about: "Server cards of MCP servers (`mcp_catalog`), by name below it.",
  },
  {
    path: "/.well-known/ai-catalog.json",
    methods: ["GET"],
    about: "Server cards of the host (`mcp_catalog`). Without the setting, the address belongs to the routes.",
  },
  {
    path: "/.gateway/mcp/connect",
    methods: ["GET"],
    about: "Connects the user's account at an MCP server's upstream, then redirects to `redirect_url`.",
  },
  { path: "/.gateway/mcp/disconnect", methods: ["POST"], about: "Form of the portal: disconnects such an account." },
  {
    path: "/.gateway/mcp/client/oauth/callback",
    methods: ["GET"],
    about: "Redirect URI to register at that upstream.",
  },
  {
    path: "/.gateway/mcp/client/metadata.json",
    methods: ["GET"],
    about: "Client ID metadata document of the gateway.",
  },
];

/** Endpoints of the admin listener. */
export const ADMIN_ENDPOINTS: readonly ReferenceEndpoint[] = [
  { path: "/healthz", methods: ["GET"], about: "Liveness: 200 while the process runs. No token." },
  {
    path: "/readyz",
    methods: ["GET"],
    about: "Readiness: 200 or 503. With `?store=required` also 503 while the store is unavailable. No token.",
  },
  { path: "/status", methods: ["GET"], about: "Active configuration and problems." },
  { path: "/metrics", methods: ["GET"], about: "Prometheus metrics." },
  {
    path: "/config/slices",
    methods: ["GET", "POST"],
    about: "Published slices. POST changes slices of several owners in one step.",
  },
  { path: "/config/slices/<owner>", methods: ["GET", "PUT", "DELETE"], about: "One owner's slice." },
  {
    path: "/config/slices/<owner>/validate",
    methods: ["POST"],
    about: "Validates the slice in the body without publishing it: 200 with warnings, or 422 with problems.",
  },
  { path: "/config/rollback", methods: ["POST"], about: "Restores earlier slices." },
  { path: "/publish-tokens", methods: ["POST"], about: "Issues a short-lived publish token." },
  { path: "/publish-tokens/<id>", methods: ["POST", "DELETE"], about: "Renews or revokes it." },
  {
    path: "/api/v1/openapi.json",
    methods: ["GET"],
    about: "OpenAPI 3.1 document of the admin API, with all kinds of objects.",
  },
  { path: "/api/v1/blocks", methods: ["GET", "POST"], about: "Admin API: active blocks. POST adds one." },
  { path: "/api/v1/blocks/<id>", methods: ["GET"], about: "One block." },
  {
    path: "/api/v1/blocks/<id>/lift",
    methods: ["POST"],
    about: "Removes it. Other kinds have paths of the same form.",
  },
];

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [
    0,
    "success; `explain`: allowed; `replay`: no difference; `check`: valid; `ready`: ready; `doctor`: every client connects; `diff`: no access change; `tools diff`: matches the lock; `audit verify`: records complete and unchanged",
  ],
  [1, "invalid input, or nothing to revoke"],
  [2, "usage error"],
  [
    3,
    "`explain`: denied; `replay`: differences; `diff`: access changes; `tools diff`: differs from the lock; `audit verify`: records missing, changed or moved",
  ],
  [
    4,
    "`explain`: allowed after approval; `replay`: no difference, but some records cannot be evaluated or read; `audit verify`: no problem, but some records are unsigned or were not given",
  ],
];
