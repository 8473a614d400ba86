/** MCP settings as requests read them. */
import type { DeclaredArguments } from "../../audit/redaction/plan.ts";
import type { ClientKey } from "../../settings/client-key.ts";
import type { ToolScopes } from "./tool-scopes.ts";
import type { ExtraPath } from "./extra-paths.ts";
import type { ToolLock } from "./tool-lock.ts";

/** All in seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly clientRouteToken: number;
  readonly refreshToken: number;
  /** From a grant's beginning; undefined = it goes on while it is used. */
  readonly refreshTokenAbsolute: number | undefined;
  readonly authorizationCode: number;
}

export interface UpstreamOAuth {
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Proves the client instead of a secret. */
  readonly clientKey: ClientKey | undefined;
  readonly endpoint: { readonly authUrl: string; readonly tokenUrl: string } | undefined;
  readonly authStyle: "header" | "params" | undefined;
  readonly scopes: readonly string[];
  readonly authorizationUrlParams: ReadonlyMap<string, string>;
  /** How tokens are got without anybody connecting an account; undefined: users connect theirs. */
  readonly direct: DirectGrant | undefined;
  /** `resource` of direct grants; undefined: as metadata has it. */
  readonly resource: string | undefined;
  /** Whether its authorization server is sent `resource`: some refuse requests that have it. */
  readonly sendsResource: boolean;
}

/** A grant that needs no browser. */
export type DirectGrant =
  /** Per user, by the company's identity provider. `scopes`: asked of the provider. */
  | { readonly kind: "id_jag"; readonly scopes: readonly string[] }
  /** One for the route, by a token of the gateway's platform. */
  | { readonly kind: "workload"; readonly assertion: string }
  /** One for the route, by the client itself. */
  | { readonly kind: "client_credentials" };

export interface McpServer {
  readonly kind: "server";
  /** "" or "/sub/path" without trailing slash. */
  readonly path: string;
  /** Below the base, see extra-paths.ts. */
  readonly extraPaths: readonly ExtraPath[];
  readonly maxRequestBytes: number;
  /** What a caller may not use is left out of lists. */
  readonly filtersLists: boolean;
  /** What of its tools was reviewed; undefined: they may change. */
  readonly toolLock: ToolLock | undefined;
  /** What OAuth clients need for tools; undefined: nothing. */
  readonly toolScopes: ToolScopes | undefined;
  /** What records tell of arguments; undefined: nothing is declared. */
  readonly recordArguments: DeclaredArguments | undefined;
  /** The protected resource and listed URL: `from` + prefix + `path`, no trailing slash unless it is a bare origin. */
  readonly resource: string;
  readonly upstreamOAuth: UpstreamOAuth | undefined;
  readonly authorizationServerUrl: string | undefined;
  /** Owners whose applications may call it, beside its own, as features/process/owners.ts reads them. */
  readonly allowedApplications: readonly string[];
  /** Names of the service accounts that may ask about tokens for it. */
  readonly introspectionAccounts: readonly string[];
}

export interface McpClient {
  readonly kind: "client";
}

/** What a route is in MCP. */
export interface McpRoute {
  readonly mcp: McpServer | McpClient | undefined;
}
