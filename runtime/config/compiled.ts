/**
 * Settings and routes for the running proxy, with every default filled, every pattern compiled, every secret resolved.
 * Immutable; made by compile-settings.ts and compile-route.ts from a checked configuration; never serialized.
 */
import type { RoutedRoute } from "../features/routing/compiled.ts";
import type { BalancedRoute } from "../features/balancing/compiled.ts";
import type { HeaderRoute } from "../features/headers/compiled.ts";
import type { AboutRoute } from "../features/catalog/compiled.ts";
import type { ConsoleSettings } from "../features/access/console.ts";
import type { AccessRoute, BearerTokenFormat } from "../features/access/compiled.ts";
import type { LimitedRoute } from "../features/limits/compiled.ts";
import type { ConnectionRoute } from "../features/connection/compiled.ts";
import type { McpRoute, Lifetimes } from "../features/mcp/compiled.ts";
import type { ListenerSettings } from "../features/listener/compiled.ts";
import type { ProcessSettings } from "../features/process/compiled.ts";
import type { RecordSettings } from "../features/records/compiled.ts";
import type { IdpSettings, CookieSettings } from "../features/sign-in/compiled.ts";
import type { Directory } from "../features/sign-in/directories.ts";
import type { TrustedIssuer } from "../features/sign-in/trusted-issuers.ts";
import type { DomainPattern } from "../settings/domains.ts";

/** Static settings, allowed only in the file passed to `gateway run`. */
export type BootSettings = ListenerSettings &
  ProcessSettings &
  RecordSettings & {
    /** Undefined: no console. */
    readonly console: ConsoleSettings | undefined;
  };

/** Dynamic settings, also allowed in published slices. */
export interface LiveSettings {
  readonly mcpEnabled: boolean;
  /** Readers of the catalog of MCP servers; undefined: no catalog. */
  readonly mcpCatalog: "users" | "public" | undefined;
  readonly mcpAllowedClientIdDomains: readonly DomainPattern[];
  readonly mcpAllowedAsMetadataDomains: readonly DomainPattern[];
  /** Extra origins that may call MCP routes from a browser; the same host and loopback always may. */
  readonly mcpAllowedOrigins: readonly string[];
  /** Exact redirect URIs with private-use schemes that registration accepts. */
  readonly mcpDynamicRegistration: boolean;
  readonly mcpAllowedPrivateRedirectUris: readonly string[];
  readonly authorizeLogFields: readonly string[];
  /** Origin ("https://auth.example.com") of sign-in, consent and user pages; undefined = on each route's own host. */
  readonly authenticateServiceUrl: string | undefined;
  readonly signOutRedirectUrl: string | undefined;
  /** https or mailto; a link on error pages. */
  readonly supportUrl: string | undefined;
  /** Format for ordinary routes without their own. */
  readonly bearerTokenFormat: BearerTokenFormat;
  readonly accessTokenAudiences: readonly string[];
  /** Domains to which a programmatic login may send a token; undefined = only this host. */
  readonly programmaticRedirectDomains: readonly DomainPattern[] | undefined;
  /** The first provider: `idp_provider_url`. */
  readonly idp: IdpSettings | undefined;
  /** Sign-in providers, the default one before those of `identity_issuers`. */
  readonly providers: readonly IdpSettings[];
  /** `identity_issuers`. */
  readonly identityIssuers: readonly TrustedIssuer[];
  /** Sources of users and groups; at most one for each issuer. */
  readonly directories: readonly Directory[];
  readonly cookie: CookieSettings;
  readonly lifetimes: Lifetimes;
  /** How long a user keeps access without confirmation, while the provider confirms other users. */
  readonly unconfirmedUserSeconds: number;
  readonly passIdentityHeaders: boolean;
  /** Header name → claim, for `X-Gateway-Claim-…` style headers. */
  readonly jwtClaimsHeaders: ReadonlyMap<string, string>;
  /** Global response headers, with names as written. */
  readonly setResponseHeaders: readonly (readonly [name: string, value: string])[];
  readonly defaultUpstreamTimeoutMs: number;
  /** Limit of open event streams per user and process. */
  readonly maxStreamsPerUser: number;
  /** How long an accepted request continues after its credential expires. */
  readonly expiryGraceSeconds: number;
}

export interface CompiledRoute
  extends RoutedRoute, BalancedRoute, HeaderRoute, AccessRoute, LimitedRoute, ConnectionRoute, McpRoute, AboutRoute {
  readonly owner: string;
  /**
   * The owner whose MCP servers an application of this route is limited to; undefined without `owners`, and in the main
   * configuration file.
   */
  readonly limitedTo?: string | undefined;
  /** Display name. */
  readonly name: string;
}
