/**
 * What the upstream side keeps, under which keys, for how long.
 *
 * Promise: Internal Tokens, registered client secrets and PKCE verifiers are sealed with the record's own key as
 * associated data; states are hashed; the `client_secret` of a route stands nowhere here.
 */
import { canonicalJson } from "../../shared/canonical-json.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { UserId } from "../../shared/user-id.ts";
import { firstFormats } from "../../store/formats.ts";
import type { UpstreamTarget } from "./target.ts";

/** Which server gave something, and how it is reached again. */
export interface ServerReference {
  /** Absent for endpoints of the configuration. */
  readonly issuer?: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
}

/** As whom we speak to it. */
export interface ClientReference {
  /** route: id and secret of the configuration. document: our client ID metadata document. registered: dynamic. */
  readonly kind: "route" | "document" | "registered";
  readonly clientId: string;
  readonly authMethod: TokenAuthMethod;
  /** Key of the registration record, for registered clients. */
  readonly registration?: string;
}

export type TokenAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** `vault:<hash>`: the Internal Token of one user at one upstream. Tags `user:<id>`. */
export interface UpstreamTokenRecord {
  readonly schema: 1;
  readonly userId: UserId;
  readonly routeKey: string;
  readonly server: ServerReference;
  readonly client: ClientReference;
  /** Value of the `resource` parameter, the same in every request (RFC 8707). */
  readonly resource: string;
  /** Sealed {access, refresh}; absent when the connection ended. */
  readonly tokens?: string;
  readonly canRefresh: boolean;
  /** Epoch seconds; absent when the server named none. */
  readonly expiresAt?: number;
  /** What the token is good for, as far as known. */
  readonly scopes: readonly string[];
  /** Asked for by the upstream beyond `scopes`: the next flow asks for both. */
  readonly wantedScopes: readonly string[];
  /** Flows begun because of `wantedScopes`, since `stepUpsFrom`. */
  readonly stepUps: number;
  /** Epoch seconds. */
  readonly stepUpsFrom: number;
  /** The user has to connect again: why. */
  readonly ended?: "refused" | "expired";
  /** Epoch seconds of the last answer of the server. */
  readonly obtainedAt: number;
}

/**
 * `upstream-need:<hash>`: whether the upstream of a route wants a token from its users. Tags `upstream-route:<key>`.
 *
 * It concerns all users, so no single response makes one: see `proof`.
 */
export interface NeedRecord {
  readonly schema: 1;
  readonly routeKey: string;
  readonly needed: boolean;
  /** The upstream itself has responded with a challenge; otherwise only metadata was found. */
  readonly challenged: boolean;
  /**
   * Where it is needed, how that is known. metadata: documents at the upstream say so. challenge: there are none, and a second
   * request was challenged as well. Without a proof the record counts as absent.
   */
  readonly proof?: "metadata" | "challenge";
  /** Named by the challenge that discovery confirmed. */
  readonly resourceMetadata?: string;
  /** Epoch seconds. */
  readonly learnedAt?: number;
}

/**
 * `upstream-sent:<hash>`: this user's request was refused, and the user was sent to connect the upstream. Tags `user:<id>`,
 * `upstream-route:<key>`.
 */
export interface SentRecord {
  readonly schema: 1;
  readonly routeKey: string;
  /** What the refused request needs. */
  readonly scope?: string;
}

/** `upstream-flow:<hash of state>`: a flow that is under way in somebody's browser. Taken once. */
export interface FlowRecord {
  readonly schema: 1;
  readonly userId: UserId;
  /** The browser session that began it. */
  readonly sessionId: string;
  readonly host: string;
  readonly routeKey: string;
  readonly generation: string;
  readonly upstreamUrl: string;
  readonly server: ServerReference;
  /** The server promises `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly client: ClientReference;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  /** Sealed PKCE verifier. */
  readonly verifier: string;
  readonly journey: ConnectFlow;
}

/** Where the browser goes when all is connected. */
export interface ConnectFlow {
  /** Checked when the journey began. */
  readonly returnTo: string;
  /** Routes that are still to be connected, by key, the one under way first. */
  readonly routes: readonly string[];
  /** What stands on buttons that lead back: "the application", "your page". */
  readonly back: string;
  /** An application's `redirect_url`: it is told with `connect_error` when an upstream was not connected. */
  readonly tellsErrors?: true;
  /** Nobody asked for it: an upstream that cannot be connected and has refused nothing is left as it is. */
  readonly isOptional?: true;
}

/** `upstream-client:<hash>`: which of our dynamic registrations at one issuer a host of ours uses for new flows. */
export interface CurrentRegistrationRecord {
  readonly schema: 1;
  readonly issuer: string;
  /** Key of the registration. */
  readonly registration: string;
  /** Flows begun since one came back: a server that has forgotten us shows its own page and sends nobody back. */
  readonly unanswered: number;
}

/** `upstream-client:<hash>` too: one dynamic registration; tokens obtained through it need it as long as they live. */
export interface RegistrationRecord {
  readonly schema: 1;
  readonly issuer: string;
  /** "https://github.example.com" */
  readonly origin: string;
  readonly clientId: string;
  /** Sealed. */
  readonly clientSecret?: string;
  readonly authMethod: TokenAuthMethod;
  /** Epoch seconds; absent = no end. */
  readonly secretExpiresAt?: number;
  readonly registeredAt: number;
}

/** `upstream-client:<hash>` too: the issuer that the configured client of a route belongs to. */
export interface BoundIssuerRecord {
  readonly schema: 1;
  /** Sealed. */
  readonly boundIssuer: string;
}

/** The schema that each kind is written in, and how older ones are brought up to date; see store/formats.ts. */
export const UPSTREAM_FORMATS = firstFormats([
  "vault",
  "upstream-need",
  "upstream-sent",
  "upstream-flow",
  "upstream-client",
]);

/** A flow must come back within this. */
export const FLOW_SECONDS = 600;
/** From the last refresh; a token that nobody uses for so long is forgotten. */
export const VAULT_SECONDS = 180 * 24 * 3600;
export const REGISTRATION_SECONDS = 180 * 24 * 3600;
/** From the registration until a flow comes back: abandoned flows must not leave registrations for long. */
export const UNUSED_REGISTRATION_SECONDS = 24 * 3600;
/** From the last use: a route that is not used for so long is probably gone. */
export const BOUND_ISSUER_SECONDS = 400 * 24 * 3600;
/** Metadata is read again after this; so is what says that there is no need, which a confirmed 401 replaces immediately. */
export const NEED_SECONDS = 24 * 3600;
/** A challenge without metadata is weak evidence. */
export const CHALLENGED_SECONDS = 3600;
/** A client that got our challenge refreshes its token right away, and then must come to the authorization endpoint. */
export const SENT_SECONDS = 600;

/**
 * What the secrets of a connection are sealed for, beside their key: nobody who writes the store can send them elsewhere.
 * As text; canonical, since the store may turn members around.
 */
export function bindingOf({
  server,
  client,
  resource,
}: Pick<UpstreamTokenRecord, "server" | "client" | "resource">): string {
  return canonicalJson([server, client, resource]);
}

/** The same of a flow, with whose it is and where it goes on. */
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

/** Lists what was learned about the upstream of a route. */
export function upstreamRouteTag(routeKey: string): string {
  return `upstream-route:${routeKey}`;
}

export function flowKey(state: string): string {
  return `upstream-flow:${hashSecret(state)}`;
}

/** Registrations are per issuer, since another one must not learn the secret, and per host, whose callback they name. */
export function currentRegistrationKey(issuer: string, origin: string): string {
  return `upstream-client:${hashSecret(JSON.stringify([issuer, origin]))}`;
}

export function registrationKey(issuer: string, origin: string, clientId: string): string {
  return `upstream-client:${hashSecret(JSON.stringify([issuer, origin, clientId]))}`;
}

/** Not by upstream: the client stays the same if the route leads elsewhere. */
export function boundIssuerKey({ route, oauth }: UpstreamTarget): string {
  return `upstream-client:${hashSecret(JSON.stringify(["bound-issuer", route.key, oauth?.clientId ?? null]))}`;
}

/** Lists what a user has connected. */
export function upstreamTokenTag(userId: string): string {
  return `user:${userId}`;
}
