/**
 * The External Token (TE), presented by MCP clients and by back ends of MCP client routes.
 *
 * `gwt_` and a seal of user, audience and expiry. Only the gateway can open the seal, and opening needs no store.
 * Promise: a token is valid only where its audience allows; see `audienceAllows`.
 */
import type { Keys } from "../shared/keys.ts";
import { readUserId, type UserId } from "../shared/user-id.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { CompiledRoute } from "../config/compiled.ts";

/** Lets secret scanners find leaked tokens. */
export const EXTERNAL_TOKEN_PREFIX = "gwt_";

/** Path on a client route's host where application tokens list the MCP servers. */
export const ROUTES_PATH = "/.gateway/mcp/routes";

export type ExternalTokenKind = "grant" | "application" | "service-account" | "workload" | "programmatic";

export interface ExternalTokenClaims {
  /**
   * grant: an MCP client; application: the back end of an MCP client route; service-account: a service account;
   * workload: a job, pod or machine with a platform's token; programmatic: a program on ordinary routes of one host.
   */
  readonly kind: ExternalTokenKind;
  readonly userId: UserId;
  /** The session of an application token. */
  readonly sessionId?: string;
  /** The grant of the token. */
  readonly grantId?: string;
  /** The agent run of the token, instead of a grant. */
  readonly runId?: string;
  /** The service account of its token. */
  readonly accountId?: string;
  /** Key of the MCP client route that an application's token was issued for. */
  readonly routeKey?: string;
  /** OAuth client, for grants and client credentials. */
  readonly clientId?: string;
  /** Granted tool scopes of OAuth clients, at least one, without `mcp`. */
  readonly scopes?: readonly string[];
  /** The token is valid only with proofs by this key (DPoP): SHA-256 of the public key, RFC 7638. */
  readonly keyThumbprint?: string;
  /** A resource, an origin, `applicationAudience(origin)`, or `EVERY_SERVER`. */
  readonly audience: string;
  readonly expiresAt: number;
  /** Epoch seconds; set by `mint`. Absent in tokens of versions that did not write it. */
  readonly issuedAt?: number;
}

export type ExternalTokenResult =
  | { readonly ok: true; readonly claims: ExternalTokenClaims }
  | { readonly ok: false; readonly reason: "malformed" | "expired" };

export interface ExternalTokens {
  mint(claims: Omit<ExternalTokenClaims, "issuedAt">): string;
  /** Checks seal, format and expiry, but not revocation or audience. */
  open(token: string): ExternalTokenResult;
}

/** Short names: the token travels with every request. */
interface Wire {
  readonly k: ExternalTokenKind;
  readonly u: string;
  readonly s?: string;
  readonly g?: string;
  readonly n?: string;
  readonly m?: string;
  readonly r?: string;
  readonly c?: string;
  readonly o?: readonly string[];
  readonly j?: string;
  readonly a: string;
  readonly e: number;
  readonly i?: number;
}

const SEAL_CONTEXT = "te";
/** Longer texts are rejected before decoding. */
const MAX_TOKEN_CHARACTERS = 4096;

export function createExternalTokens(deps: { readonly keys: Keys; readonly clock: Clock }): ExternalTokens {
  const sealer = deps.keys.sealer("external-token");
  return {
    mint(claims) {
      const wire: Wire = {
        k: claims.kind,
        u: claims.userId,
        ...(claims.sessionId === undefined ? {} : { s: claims.sessionId }),
        ...(claims.grantId === undefined ? {} : { g: claims.grantId }),
        ...(claims.runId === undefined ? {} : { n: claims.runId }),
        ...(claims.accountId === undefined ? {} : { m: claims.accountId }),
        ...(claims.routeKey === undefined ? {} : { r: claims.routeKey }),
        ...(claims.clientId === undefined ? {} : { c: claims.clientId }),
        ...(claims.scopes === undefined ? {} : { o: claims.scopes }),
        ...(claims.keyThumbprint === undefined ? {} : { j: claims.keyThumbprint }),
        a: claims.audience,
        e: claims.expiresAt,
        i: epochSeconds(deps.clock),
      };
      return EXTERNAL_TOKEN_PREFIX + sealer.seal(JSON.stringify(wire), SEAL_CONTEXT);
    },
    open(token) {
      if (!token.startsWith(EXTERNAL_TOKEN_PREFIX) || token.length > MAX_TOKEN_CHARACTERS) return MALFORMED;
      const bytes = sealer.open(token.slice(EXTERNAL_TOKEN_PREFIX.length), SEAL_CONTEXT);
      if (!bytes) return MALFORMED;
      const wire = JSON.parse(bytes.toString()) as Wire;
      const userId = readUserId(wire.u);
      if (userId === undefined) return MALFORMED;
      if (!(wire.e > epochSeconds(deps.clock))) return EXPIRED;
      return {
        ok: true,
        claims: {
          kind: wire.k,
          userId,
          ...(wire.s === undefined ? {} : { sessionId: wire.s }),
          ...(wire.g === undefined ? {} : { grantId: wire.g }),
          ...(wire.n === undefined ? {} : { runId: wire.n }),
          ...(wire.m === undefined ? {} : { accountId: wire.m }),
          ...(wire.r === undefined ? {} : { routeKey: wire.r }),
          ...(wire.c === undefined ? {} : { clientId: wire.c }),
          ...(wire.o === undefined ? {} : { scopes: wire.o }),
          ...(wire.j === undefined ? {} : { keyThumbprint: wire.j }),
          audience: wire.a,
          expiresAt: wire.e,
          ...(wire.i === undefined ? {} : { issuedAt: wire.i }),
        },
      };
    },
  };
}

const MALFORMED = { ok: false, reason: "malformed" } as const;
const EXPIRED = { ok: false, reason: "expired" } as const;

/** Audience of a service account's token that is valid for every route. */
// Contains a space, which no resource and no origin does: the audience is unambiguous.
export const EVERY_SERVER = "every server";

const APPLICATION = "application ";

/**
 * Audience of a token for the back end of an MCP client route: the MCP server routes that it may call (see
 * application-reach.ts), and their list on the route's own host.
 */
export function applicationAudience(clientRouteOrigin: string): string {
  // The prefix contains a space, which no resource and no origin does: audiences are unambiguous.
  return APPLICATION + clientRouteOrigin;
}

export function isApplicationAudience(audience: string): boolean {
  return audience.startsWith(APPLICATION);
}

const PROGRAM = "program ";

/** Audience of a programmatic login: the ordinary routes of one host, no MCP server. */
export function programAudience(origin: string): string {
  return PROGRAM + origin;
}

/** Returns true if a token with this audience may be used here (RFC 8707 §2: the resource's own check). */
export function audienceAllows(audience: string, presentedAt: TokenAudience): boolean {
  const { resource, origin } = presentedAt;
  if (presentedAt.isWeb === true) {
    return audience === programAudience(origin) || audience === origin || audience === EVERY_SERVER;
  }
  if (audience.startsWith(PROGRAM)) return false;
  const isList = resource.endsWith(ROUTES_PATH) && resource.length === origin.length + ROUTES_PATH.length;
  if (isApplicationAudience(audience)) {
    return !isList || audience === applicationAudience(origin);
  }
  if (audience === EVERY_SERVER) return !isList;
  // The list is for applications only: a client with a token for the whole host gets its MCP servers, not the list.
  return !isList && (audience === resource || audience === origin);
}

/**
 * Resource at which a token is presented. `aud` must be the resource or its origin, or the token belongs to an
 * application that may call the route.
 */
export interface TokenAudience {
  /** Exact resource ("https://h/github/mcp") or "<origin>/.gateway/mcp/routes". */
  readonly resource: string;
  /** Origin of the host ("https://h"). */
  readonly origin: string;
  /** The MCP server route, if there is one. */
  readonly server?: CompiledRoute;
  /** The caller of this check verifies the proof of a token that is bound to a key. Others refuse such tokens. */
  readonly checksProof?: boolean;
  /** An ordinary route: accepts only tokens of programs. */
  readonly isWeb?: boolean;
}
