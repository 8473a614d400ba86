/** The gateway's own addresses and its commands' exit codes, for the reference. Tests ask a running gateway for each. */

export interface ReferenceEndpoint {
  /** As a path; on MCP server routes metadata also stands below and behind the route's own path. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly about: string;
}

/** On the public listener: on every host with a route, and on that of `authenticate_service_url`. */
export const PUBLIC_ENDPOINTS: readonly ReferenceEndpoint[] = [
  {
    path: "/.gateway/",
    methods: ["GET"],
    about: "The user page: sessions, applications, connections and devices, each with its end.",
  },
  { path: "/.gateway/user", methods: ["GET"], about: "Who is signed in, as JSON; 401 when nobody is." },
  {
    path: "/.gateway/sign_in",
    methods: ["GET"],
    about: "Where a sign-in begins, on the host of `authenticate_service_url`.",
  },
  { path: "/.gateway/callback", methods: ["GET"], about: "Redirect URI to register at the identity provider." },
  {
    path: "/.gateway/callback/<name>",
    methods: ["GET"],
    about: "Redirect URI to register at the provider of this name in `identity_issuers`.",
  },
  { path: "/.gateway/return", methods: ["GET"], about: "The end of a sign-in, on the route's host." },
  {
    path: "/.gateway/backchannel_logout",
    methods: ["POST"],
    about:
      "OIDC back-channel logout, on the host of `authenticate_service_url`, from issuers with the use `logout`: register it at the provider. 200 says that everything named has ended, also where there was nothing; 400 that it was no good logout token; 503 that it is to be sent again.",
  },
  {
    path: "/.gateway/global_token_revocation",
    methods: ["POST"],
    about:
      "Global token revocation (Okta Universal Logout), there too and from the same issuers: ends everything of a user, who has to sign in again. JSON `sub_id` with `format` `iss_sub` or `email`; the bearer is a JWT of type `global-token-revocation+jwt` whose audience is this address. 204 done; 400 body; 401 bearer; 403 not a user of this issuer or of its `email_domains`; 404 user unknown; 422 another format; 503 to be sent again.",
  },
  {
    path: "/.gateway/scim/v2",
    methods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    about:
      "SCIM 2.0 (RFC 7643, 7644) for the provider of a directory, below `/<name in directories>`, on the host of `authenticate_service_url`: `/Users`, `/Groups`, `/ServiceProviderConfig`, `/ResourceTypes`, `/Schemas`. The bearer is the directory's token. Filters are `eq` and `and`, one of them by `id`, `userName`, `externalId` or `emails`, of groups `id`, `displayName` or `externalId`; members are shown for one group, not in lists. 401 token; 409 a name is another's; 413 a user of more than 128 KiB or a group of more than 8 MiB; 429 and 503 with `Retry-After` to be sent again.",
  },
  { path: "/.gateway/sign_out", methods: ["GET", "POST"], about: "Asks, then ends the session." },
  {
    path: "/.gateway/signed_out",
    methods: ["GET"],
    about: "Where the identity provider sends browsers after signing out: register it there.",
  },
  { path: "/.gateway/sessions", methods: ["POST"], about: "Ends sessions; a form of the user page." },
  {
    path: "/.gateway/api/v1/login",
    methods: ["GET"],
    about: "Programmatic login: answers with the address at which a person signs a program in.",
  },
  { path: "/.gateway/api/v1/approve", methods: ["GET", "POST"], about: "The page on which the person agrees to that." },
  {
    path: "/.gateway/approval",
    methods: ["GET", "POST"],
    about: "Where people decide about a tool call that needs an approval.",
  },
  {
    path: "/.gateway/console/",
    methods: ["GET", "POST"],
    about: "The console and all below it, on the host of `authenticate_service_url`; only with `console`.",
  },
  { path: "/.gateway/webauthn", methods: ["GET", "POST"], about: "Registers and proves devices." },
  { path: "/.gateway/webauthn.js", methods: ["GET"], about: "The script of that page." },
  { path: "/.gateway/device-enrolled", methods: ["GET"], about: "What is said of a device that was registered." },
  { path: "/.gateway/devices", methods: ["POST"], about: "Removes a device; a form of the user page." },
  { path: "/.well-known/gateway/jwks.json", methods: ["GET"], about: "Public keys of the identity header." },
];

/** The same, where `runtime_flags.mcp` is true. */
export const MCP_ENDPOINTS: readonly ReferenceEndpoint[] = [
  { path: "/.well-known/oauth-protected-resource", methods: ["GET"], about: "Metadata of the MCP server (RFC 9728)." },
  {
    path: "/.well-known/oauth-authorization-server",
    methods: ["GET"],
    about: "Metadata of the authorization server (RFC 8414).",
  },
  { path: "/.well-known/openid-configuration", methods: ["GET"], about: "The same, where some clients look for it." },
  { path: "/.gateway/mcp/authorize", methods: ["GET"], about: "Authorization endpoint for MCP clients." },
  { path: "/.gateway/mcp/consent", methods: ["GET", "POST"], about: "The consent page." },
  { path: "/.gateway/mcp/token", methods: ["POST"], about: "Token endpoint." },
  {
    path: "/.gateway/mcp/register",
    methods: ["POST"],
    about: "Dynamic registration (RFC 7591); off with `mcp_dynamic_registration: false`.",
  },
  { path: "/.gateway/mcp/revoke", methods: ["POST"], about: "Revocation (RFC 7009)." },
  {
    path: "/.gateway/mcp/introspect",
    methods: ["POST"],
    about:
      "Introspection (RFC 7662), for clients with a secret or a key: their own tokens, and those for servers that name their service account in `introspection_accounts`.",
  },
  { path: "/.gateway/mcp/access", methods: ["POST"], about: "Ends an application's access; a form of the user page." },
  {
    path: "/.gateway/mcp/routes",
    methods: ["GET"],
    about: "MCP servers that the caller may use, for applications and signed-in browsers.",
  },
  {
    path: "/.gateway/mcp/connect",
    methods: ["GET"],
    about: "Connects the user's account at the service behind an MCP server, and goes back to `redirect_url`.",
  },
  { path: "/.gateway/mcp/disconnect", methods: ["POST"], about: "Ends such a connection; a form of the user page." },
  { path: "/.gateway/mcp/client/oauth/callback", methods: ["GET"], about: "Redirect URI to register at that service." },
  { path: "/.gateway/mcp/client/metadata.json", methods: ["GET"], about: "The gateway's own client ID document." },
];

/** On the admin listener. */
export const ADMIN_ENDPOINTS: readonly ReferenceEndpoint[] = [
  { path: "/healthz", methods: ["GET"], about: "200 as long as the process runs. Without a token." },
  {
    path: "/readyz",
    methods: ["GET"],
    about:
      "200 when it serves, else 503; with `?store=required` 503 also while the store cannot be used. Without a token.",
  },
  { path: "/status", methods: ["GET"], about: "What is in force, and what is wrong." },
  { path: "/metrics", methods: ["GET"], about: "Prometheus text." },
  {
    path: "/config/slices",
    methods: ["GET", "POST"],
    about: "Published slices; POST changes several owners' in one step.",
  },
  { path: "/config/slices/<owner>", methods: ["GET", "PUT", "DELETE"], about: "One owner's slice." },
  {
    path: "/config/slices/<owner>/validate",
    methods: ["POST"],
    about:
      "Says what publishing the slice in the body would say (422 with problems, or 200 with warnings), and changes nothing.",
  },
  { path: "/config/rollback", methods: ["POST"], about: "Puts slices back to how they were." },
  { path: "/publish-tokens", methods: ["POST"], about: "Makes a publish token for minutes." },
  { path: "/publish-tokens/<id>", methods: ["POST", "DELETE"], about: "Renews and ends it." },
  {
    path: "/api/v1/openapi.json",
    methods: ["GET"],
    about: "The OpenAPI 3.1 document of the admin API, with all its kinds of objects.",
  },
  { path: "/api/v1/blocks", methods: ["GET", "POST"], about: "Admin API: active blocks; POST makes one." },
  { path: "/api/v1/blocks/<id>", methods: ["GET"], about: "One block." },
  {
    path: "/api/v1/blocks/<id>/lift",
    methods: ["POST"],
    about: "Lifts it. Other kinds have addresses of the same form.",
  },
];

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [
    0,
    "done; `explain`: allowed; `replay`: nothing changes; `check`: a gateway would start; `ready`: it serves; `doctor`: every client connects; `diff`: nobody gains or loses anything; `tools diff`: all is as locked; `audit verify`: the records are whole",
  ],
  [1, "a problem with what was given, or nothing was there to end"],
  [2, "wrong usage"],
  [
    3,
    "`explain`: denied; `replay`: something would change; `diff`: somebody gains or loses something; `tools diff`: something differs from the lock; `audit verify`: something is missing, changed or moved",
  ],
  [
    4,
    "`explain`: allowed once it is approved; `replay`: nothing changes of what can be decided again, but not all can be, or not every line can be read; `audit verify`: nothing is wrong, but not all is signed or was given",
  ],
];
