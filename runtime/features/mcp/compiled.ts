/** MCP settings, compiled for requests. */
import type { DeclaredArguments } from "../../audit/redaction/plan.ts";
import type { ClientKey } from "../../settings/client-key.ts";
import type { Guardrail } from "./guardrail.ts";
import type { HistoryRule } from "./compile-history.ts";
import type { ToolScopes } from "./tool-scopes.ts";
import type { ExtraPath } from "./extra-paths.ts";
import type { ToolLock } from "./tool-lock.ts";

/** All in seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly clientRouteToken: number;
  readonly refreshToken: number;
  /** From the start of a grant; undefined = valid while it is used. */
  readonly refreshTokenAbsolute: number | undefined;
  readonly authorizationCode: number;
}

export interface UpstreamOAuth {
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Authenticates the client instead of a secret. */
  readonly clientKey: ClientKey | undefined;
  readonly endpoint: { readonly authUrl: string; readonly tokenUrl: string } | undefined;
  readonly authStyle: "header" | "params" | undefined;
  readonly scopes: readonly string[];
  readonly authorizationUrlParams: ReadonlyMap<string, string>;
  /** How to get tokens without connected accounts; undefined: users connect theirs. */
  readonly direct: DirectGrant | undefined;
  /** `resource` of direct grants; undefined: from metadata. */
  readonly resource: string | undefined;
  /** Whether to send `resource` to the authorization server: some reject requests with it. */
  readonly sendsResource: boolean;
}

/** A grant that needs no browser. */
export type DirectGrant =
  /** Per user, from the company's identity provider. `scopes`: requested from the provider. */
  | { readonly kind: "id_jag"; readonly scopes: readonly string[] }
  /** One for the route, with a token of the gateway's platform. */
  | { readonly kind: "workload"; readonly assertion: string }
  /** One for the route, with the client's own credentials. */
  | { readonly kind: "client_credentials" };

export interface McpServer {
  readonly kind: "server";
  /** A federated route: keys of its member routes by prefix, sorted; undefined: an upstream serves it. */
  readonly members: ReadonlyMap<string, string> | undefined;
  /** A federated route: starts of URIs, none of them the start of another, each with the prefix of its member. */
  readonly resourcePrefixes: readonly (readonly [string, string])[];
  /** Federated routes: number of tools above which they are searched instead of listed; undefined: never. */
  readonly searchToolsAbove: number | undefined;
  /** "" or "/sub/path" without trailing slash. */
  readonly path: string;
  /** Below the base, see extra-paths.ts. */
  readonly extraPaths: readonly ExtraPath[];
  readonly maxRequestBytes: number;
  /** Whether lists omit items that the caller cannot use. */
  readonly filtersLists: boolean;
  /** Reviewed definitions of its tools; undefined: tools may change. */
  readonly toolLock: ToolLock | undefined;
  /** Scopes that OAuth clients need for tools; undefined: none. */
  readonly toolScopes: ToolScopes | undefined;
  /** Arguments in records; undefined: not configured. */
  readonly recordArguments: DeclaredArguments | undefined;
  /** Rules over earlier calls; undefined if there are none. */
  readonly historyRules: readonly HistoryRule[] | undefined;
  /** The service that checks its tool calls; undefined: none. */
  readonly guardrail: Guardrail | undefined;
  /**
   * The protected resource and listed URL: `from` + prefix + `path`, without trailing slash unless it is a bare origin.
   */
  readonly resource: string;
  /** Tokens bound to keys of clients; undefined: none are issued for this server. */
  readonly dpop: "allowed" | "required" | undefined;
  /** Whether proofs must contain a nonce of the gateway. */
  readonly dpopNonce: boolean;
  readonly upstreamOAuth: UpstreamOAuth | undefined;
  readonly authorizationServerUrl: string | undefined;
  /** Owners whose applications may call it, in addition to its own, as features/process/owners.ts reads them. */
  readonly allowedApplications: readonly string[];
  /** Names of the service accounts that may introspect its tokens. */
  readonly introspectionAccounts: readonly string[];
}

export interface McpClient {
  readonly kind: "client";
}

/** MCP settings of a route. */
export interface McpRoute {
  readonly mcp: McpServer | McpClient | undefined;
}
