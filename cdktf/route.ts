import { routeFields, type RouteDoc } from "../runtime/config/route.ts";
import type { PolicyDoc } from "../runtime/policy/parse.ts";
import type { BalancingSettings } from "./balancing.ts";
import { documentFrom } from "./synth/document.ts";
import { Construct, type IResolvable } from "./framework.ts";
import { Gateway } from "./gateway.ts";
import type { HeaderSettings } from "./header-settings.ts";
import type { RoutingSettings } from "./routing.ts";
import type { Secret } from "./secret.ts";

/** Settings of every kind of route. */
export interface RouteProps extends HeaderSettings, RoutingSettings, BalancingSettings {
  /**
   * Name of the route: part of its key, and what lists and pages show.
   * @default - the construct's id
   */
  readonly name?: string;
  /**
   * Address users visit: scheme, host and perhaps a port, such as "https://notes.example.com".
   * "https://*.example.com" takes every host below example.com that no other route names more exactly; not on MCP
   * routes.
   */
  readonly from: string;
  /**
   * Address of the upstream, or a list of them; "url,weight" gives one more or less of the traffic. Required unless
   * `redirect` or `response` answers.
   * @default - `redirect` or `response` answers
   */
  readonly to?: string | readonly string[];
  /**
   * Who may pass; see `allow` and `deny`. A request passes when some allow rule matches and no deny rule does.
   * @default - everything is denied
   */
  readonly policy?: PolicyDoc;
  /**
   * Everybody may pass, signed in or not. The policy's deny rules still hold.
   * @default false
   */
  readonly allowPublicUnauthenticatedAccess?: boolean | IResolvable;
  /**
   * Everybody who is signed in may pass. The policy's deny rules still hold.
   * @default false
   */
  readonly allowAnyAuthenticatedUser?: boolean | IResolvable;
  /**
   * E-mail addresses or user ids of those who may pass, beside those whom the policy allows.
   * @default - only the policy allows
   */
  readonly allowedUsers?: readonly string[];
  /**
   * Domains of e-mail addresses whose users may pass, beside those whom the policy allows. Without wildcards.
   * @default - only the policy allows
   */
  readonly allowedDomains?: readonly string[];
  /**
   * Claims to values: who has one of the values in one of the claims may pass, beside those whom the policy allows.
   * @default - only the policy allows
   */
  readonly allowedIdpClaims?: Readonly<Record<string, readonly string[]>>;
  /**
   * CORS preflight requests reach the upstream without sign-in. Not on MCP server routes.
   * @default false
   */
  readonly corsAllowPreflight?: boolean | IResolvable;
  /**
   * What `Authorization: Bearer` may hold on this route, beside the gateway's own tokens. Not on MCP routes.
   * @default - the gateway's `bearerTokenFormat`
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token";
  /**
   * Audiences of the identity provider's access tokens that this route takes; one of them must be the token's.
   * @default - the gateway's `idpAccessTokenAllowedAudiences`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Pages and answers that deny access name the rules that decided and what they found of the user. Not on MCP server
   * routes.
   * @default false
   */
  readonly showErrorDetails?: boolean | IResolvable;
  /**
   * Send the signed identity header and claim headers to the upstream.
   * @default - the gateway's `passIdentityHeaders`
   */
  readonly passIdentityHeaders?: boolean | IResolvable;
  /**
   * Pass WebSocket connections to the upstream. Browsers may open them from pages of the same origin only.
   * @default false
   */
  readonly allowWebsockets?: boolean | IResolvable;
  /**
   * Speak HTTP/2 to the upstream: to https addresses that offer it, to http addresses always (h2c).
   * @default false
   */
  readonly http2?: boolean | IResolvable;
  /**
   * Take any certificate from the upstream. Whoever is between can then read and change everything.
   * @default false
   */
  readonly tlsSkipVerify?: boolean | IResolvable;
  /**
   * Host that the upstream's certificate must be for, and that it is asked for (SNI).
   * @default - the host of `to`
   */
  readonly tlsServerName?: string;
  /**
   * PEM of the authorities that may have signed the upstream's certificate, instead of the usual ones. By
   * reference or sealed.
   * @default - the authorities that Node.js trusts
   */
  readonly tlsCustomCa?: Secret;
  /**
   * PEM of the certificate that the gateway shows to the upstream, by reference or sealed. Needs `tlsClientKey`.
   * @default - no client certificate
   */
  readonly tlsClientCert?: Secret;
  /**
   * PEM of the private key of `tlsClientCert`, by reference or sealed.
   * @default - no client certificate
   */
  readonly tlsClientKey?: Secret;
  /**
   * Longest wait for the upstream's answer to begin, such as "30s"; "0s" means no limit.
   * @default - the gateway's `defaultUpstreamTimeout`; no limit on MCP server routes
   */
  readonly timeout?: string;
  /**
   * Longest silence within an answer, event streams included, and on a WebSocket connection; "0s" means no limit.
   * @default - `timeout`; no limit for event streams and WebSocket
   */
  readonly idleTimeout?: string;
}

/**
 * A route of a web application.
 *
 * ```ts
 * new Route(gateway, "wiki", {
 *   from: "https://wiki.example.com",
 *   to: "http://wiki.internal:8080",
 *   policy: [allow(domain.is("example.com"))],
 * });
 * ```
 */
export class Route extends Construct {
  /** Unique among the routes of the gateway. */
  readonly routeName: string;
  /** The route as a configuration file has it; strings may hold tokens. */
  readonly document: RouteDoc;

  /**
   * @param scope the gateway, or a construct below it
   * @param mcp   @internal what McpServerRoute and McpClientRoute add
   * @throws Error for a name that the gateway already has, and for values that are wrong by themselves
   */
  constructor(scope: Construct, id: string, props: RouteProps, mcp?: object) {
    super(scope, id);
    const { name = id, ...settings } = props;
    this.routeName = name;
    const place = `route "${name}"`;
    this.document = documentFrom(routeFields, mcp ? { ...settings, mcp } : settings, place) as unknown as RouteDoc;
    const gateway = Gateway.of(this);
    gateway.addRoute(this);
    this.node.addValidation({ validate: () => gateway.problemsOf(this) });
  }
}
