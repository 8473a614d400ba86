/**
 * Stored records of the upstream side, with their keys and lifetimes.
 *
 * Promise: Internal Tokens, registered client secrets and PKCE verifiers are sealed with the record's own key as
 * associated data. States are hashed. The `client_secret` of a route is never stored.
 */
import { canonicalJson } from "../../shared/canonical-json.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { UserId } from "../../shared/user-id.ts";
import { firstFormats } from "../../store/formats.ts";
import type { UpstreamTarget } from "./target.ts";

/** The server that issued a token, and its endpoints. */
export interface ServerReference {
  /** Absent for configured endpoints. */
  readonly issuer?: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
}

/** Our client identity at that server. */
export interface ClientReference {
  /** route: id and secret of the configuration. document: our client ID metadata document. registered: dynamic registration. */
  readonly kind: "route" | "document" | "registered";
  readonly clientId: string;
  readonly authMethod: TokenAuthMethod;
  /** Key of the registration record, for registered clients. */
  readonly registration?: string;
}

export type TokenAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** `vault:<hash>`: the Internal Token of one user at one upstream. Tag: `user:<id>`. */
export interface UpstreamTokenRecord {
  readonly schema: 1;
  readonly userId: UserId;
  readonly routeKey: string;
  readonly server: ServerReference;
  readonly client: ClientReference;
  /** Value of the `resource` parameter, the same in every request (RFC 8707). */
  readonly resource: string;
  /** Sealed {access, refresh}; absent if the connection has ended. */
  readonly tokens?: string;
  readonly canRefresh: boolean;
  /** Epoch seconds; absent if the server sent none. */
  readonly expiresAt?: number;
  /** Granted scopes, as far as known. */
  readonly scopes: readonly string[];
  /** Scopes that the upstream requires beyond `scopes`. The next flow requests both. */
  readonly wantedScopes: readonly string[];
  /** Flows started for `wantedScopes`, since `stepUpsFrom`. */
  readonly stepUps: number;
  /** Epoch seconds. */
  readonly stepUpsFrom: number;
  /** Reason why the user has to connect again. */
  readonly ended?: "refused" | "expired";
  /** Epoch seconds of the server's last response. */
  readonly obtainedAt: number;
}

/**
 * `upstream-need:<hash>`: whether the upstream of a route requires a token from its users. Tag: `upstream-route:<key>`.
 *
 * It affects all users, so a single response never creates one: see `proof`.
 */
export interface NeedRecord {
  readonly schema: 1;
  readonly routeKey: string;
  readonly needed: boolean;
  /** The upstream itself has responded with a challenge; otherwise only metadata was found. */
  readonly challenged: boolean;
  /**
   * Proof that a token is required. metadata: documents at the upstream. challenge: there are no documents, and a
   * second request was challenged as well. Without a proof the record counts as absent.
   */
  readonly proof?: "metadata" | "challenge";
  /** URL in the challenge that discovery confirmed. */
  readonly resourceMetadata?: string;
  /** Epoch seconds. */
  readonly learnedAt?: number;
}

/**
 * `upstream-sent:<hash>`: this user's request was rejected, and the user was asked to connect the upstream. Tags:
 * `user:<id>`, `upstream-route:<key>`.
 */
export interface SentRecord {
  readonly schema: 1;
  readonly routeKey: string;
  /** Scope that the rejected request needs. */
  readonly scope?: string;
}

/** `upstream-flow:<hash of state>`: a flow in progress in a browser. Used once. */
export interface FlowRecord {
  readonly schema: 1;
  readonly userId: UserId;
  /** The browser session that started it. */
  readonly sessionId: string;
  readonly host: string;
  readonly routeKey: string;
  readonly generation: string;
  readonly upstreamUrl: string;
  readonly server: ServerReference;
  /** The server always sends `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly client: ClientReference;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  /** Sealed PKCE verifier. */
  readonly verifier: string;
  readonly journey: ConnectFlow;
}

/** A browser flow through several upstreams. */
export interface ConnectFlow {
  /** Checked at the start of the flow. */
  readonly returnTo: string;
  /** Keys of the routes still to connect, the current one first. */
  readonly routes: readonly string[];
  /** Text of links that lead back: "the application", "your page". */
  readonly back: string;
  /** `returnTo` is an application's `redirect_url`, which gets failures as `connect_error`. */
  readonly tellsErrors?: true;
  /** The user did not request it: skip an upstream that cannot be connected and has rejected nothing. */
  readonly isOptional?: true;
}

/** `upstream-client:<hash>`: the dynamic registration that a host uses for new flows at an issuer. */
export interface CurrentRegistrationRecord {
  readonly schema: 1;
  readonly issuer: string;
  /** Key of the registration. */
  readonly registration: string;
  /**
   * Flows started since the last return. A server that deleted the registration shows an error page and never redirects
   * back.
   */
  readonly unanswered: number;
}

/** Also `upstream-client:<hash>`: one dynamic registration. Tokens obtained through it depend on it. */
export interface RegistrationRecord {
  readonly schema: 1;
  readonly issuer: string;
  /** "https://github.example.com" */
  readonly origin: string;
  readonly clientId: string;
  /** Sealed. */
  readonly clientSecret?: string;
  readonly authMethod: TokenAuthMethod;
  /** Epoch seconds; absent: no expiry. */
  readonly secretExpiresAt?: number;
  readonly registeredAt: number;
}

/** Also `upstream-client:<hash>`: the issuer of a route's configured client. */
export interface BoundIssuerRecord {
  readonly schema: 1;
  /** Sealed. */
  readonly boundIssuer: string;
}

/** Schema of each kind of record, and migrations of older ones; see store/formats.ts. */
export const UPSTREAM_FORMATS = firstFormats([
  "vault",
  "upstream-need",
  "upstream-sent",
  "upstream-flow",
  "upstream-client",
]);

/** Maximum duration of a flow. */
export const FLOW_SECONDS = 600;
/** After the last refresh. An unused token is then deleted. */
export const VAULT_SECONDS = 180 * 24 * 3600;
export const REGISTRATION_SECONDS = 180 * 24 * 3600;
/** From the registration to the first return: registrations of abandoned flows must not stay for long. */
export const UNUSED_REGISTRATION_SECONDS = 24 * 3600;
/** After the last use: a route that is unused for this long is probably gone. */
export const BOUND_ISSUER_SECONDS = 400 * 24 * 3600;
/** Metadata is read again after this time. So is a record of "not required", which a confirmed 401 replaces immediately. */
export const NEED_SECONDS = 24 * 3600;
/** A challenge without metadata is weak evidence. */
export const CHALLENGED_SECONDS = 3600;
/** A client that gets our challenge refreshes its token immediately, and must then come to the authorization endpoint. */
export const SENT_SECONDS = 600;

/**
 * Context for sealing a connection's secrets, in addition to their key: write access to the store cannot redirect them.
 * Canonical text, since the store may reorder members.
 */
export function bindingOf({
  server,
  client,
  resource,
}: Pick<UpstreamTokenRecord, "server" | "client" | "resource">): string {
  return canonicalJson([server, client, resource]);
}

/** Seal context of a flow, which also covers its user and its destination. */
export function flowContext(key: string, flow: FlowRecord): string {
  const { userId, sessionId, host, routeKey, generation, upstreamUrl, redirectUri, sendsIssuer, journey } = flow;
  const whose = [userId, sessionId, host, routeKey, generation, upstreamUrl, redirectUri, sendsIssuer, journey];
  return `${key} ${canonicalJson(whose)} ${bindingOf(flow)}`;
}

/** Unique per user, route, upstream and configured client: a change of any of them is another connection. */
export function upstreamTokenKey(userId: string, target: UpstreamTarget): string {
  return `vault:${hashSecret(JSON.stringify([userId, target.route.key, target.url, target.generation]))}`;
}

export function needKey(target: UpstreamTarget): string {
  return `upstream-need:${hashSecret(JSON.stringify([target.route.key, target.url]))}`;
}

export function sentKey(userId: string, target: UpstreamTarget): string {
  return `upstream-sent:${hashSecret(JSON.stringify([userId, target.route.key, target.url]))}`;
}

/** Tag of learned facts about a route's upstream. */
export function upstreamRouteTag(routeKey: string): string {
  return `upstream-route:${routeKey}`;
}

export function flowKey(state: string): string {
  return `upstream-flow:${hashSecret(state)}`;
}

/** Registrations are per issuer, since no other issuer may learn the secret, and per host, which their callback names. */
export function currentRegistrationKey(issuer: string, origin: string): string {
  return `upstream-client:${hashSecret(JSON.stringify([issuer, origin]))}`;
}

export function registrationKey(issuer: string, origin: string, clientId: string): string {
  return `upstream-client:${hashSecret(JSON.stringify([issuer, origin, clientId]))}`;
}

/** Without the upstream: the client stays the same if the route leads elsewhere. */
export function boundIssuerKey({ route, oauth }: UpstreamTarget): string {
  return `upstream-client:${hashSecret(JSON.stringify(["bound-issuer", route.key, oauth?.clientId ?? null]))}`;
}

/** Tag of a user's connections. */
export function upstreamTokenTag(userId: string): string {
  return `user:${userId}`;
}
