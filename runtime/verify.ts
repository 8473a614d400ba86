/**
 * Identifies the user of a request, for applications behind the gateway.
 *
 * `verifyAssertion` checks the signed identity header that the gateway sends with every request. The application needs
 * no sessions or passwords of its own, and requests that bypass the gateway cannot impersonate a user.
 *
 * Untrusted input: the request. Promise: claims are returned only if signature, issuer, audience, times and, if
 * requested, the route are valid.
 */
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";

/** Names of the header. Both carry the same value. */
export const ASSERTION_HEADERS = ["x-gateway-assertion", "x-gateway-jwt-assertion"] as const;

const JWKS_PATH = "/.well-known/gateway/jwks.json";

export interface AssertionClaims {
  /** Stable id of the user at the identity provider. */
  readonly sub: string;
  readonly user: string;
  /** "" if the provider sent none, or has not verified it. */
  readonly email: string;
  readonly name: string;
  /** [] if the user has no groups, or if they are unknown: see `groupsUnknown`. */
  readonly groups: readonly string[];
  /**
   * The groups are unknown: too many for a header, or omitted by the identity provider (`groups_omitted`). Do not infer
   * that the user is not in a group.
   */
  readonly groupsUnknown?: true;
  /**
   * The user's claims listed in `jwt_claims_headers`. User names of other issuers are qualified:
   * `issuer:<name>/<value>`.
   */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The user's session at the gateway. */
  readonly sid: string;
  /** Host name of the route. */
  readonly iss: string;
  readonly aud: string;
  /** Key of the route, "<owner>/<name>"; "" from gateways that do not send it. */
  readonly gateway_route: string;
  /** Epoch seconds. */
  readonly iat: number;
  readonly exp: number;
}

export type VerifyOptions = ExpectedAddress & {
  /**
   * Key of the route of this application, "<owner>/<name>". Routes on the same host share their audience. Set the route
   * there, or an application on the same host could replay assertions that it received.
   */
  readonly route?: string;
  /** Allowed clock difference in seconds. Default: 5. */
  readonly clockToleranceSeconds?: number;
  /** Time of the check. Default: now. */
  readonly currentDate?: Date;
};

/** Expected address of the route, as one URL or as its parts. */
export type ExpectedAddress =
  | {
      /** Public URL of this application's route: "https://app.example.com". The other values follow from it. */
      readonly gateway: string | URL;
    }
  | {
      /** Host name of the route, without port. */
      readonly audience: string;
      /** Default: the audience. The gateway uses the route's host as issuer. */
      readonly issuer?: string;
      /** Default: `https://<issuer>/.well-known/gateway/jwks.json`. */
      readonly jwksUrl?: string | URL;
    };

/** A Fetch `Request`, a Node `IncomingMessage`, or any object with headers in one of their forms. */
export type RequestLike =
  | { readonly headers: { get(name: string): string | null } }
  | { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };

export type AssertionFailure =
  /** The request has no assertion: it bypassed the gateway, or `pass_identity_headers` is off. */
  | "missing"
  /** The header occurs several times, or is not a JWT. */
  | "malformed"
  | "expired"
  /** Signed with another key, or modified. */
  | "bad-signature"
  /** Issued for another host, or by another issuer. */
  | "wrong-audience"
  /** Issued for another route of the host. */
  | "wrong-route"
  /** The gateway's keys cannot be fetched. */
  | "keys-unavailable";

/** Reason why a request was rejected. Respond with 401, or with 503 for `keys-unavailable`. */
export class AssertionError extends Error {
  readonly reason: AssertionFailure;

  constructor(reason: AssertionFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "AssertionError";
    this.reason = reason;
  }
}

/**
 * Key sets by URL, shared by all calls: fetched on first use, cached, and fetched again when an unknown key appears.
 */
const keySets = new Map<string, JWTVerifyGetKey>();

/**
 * Verifies the identity header of a request.
 *
 * ```ts
 * const { email, groups } = await verifyAssertion(request, { gateway: "https://app.example.com" });
 * ```
 *
 * @throws AssertionError with a `reason`
 */
export async function verifyAssertion(request: RequestLike, options: VerifyOptions): Promise<AssertionClaims> {
  const token = readHeader(request);
  const { issuer, audience, address } = readExpected(options);
  let claims: AssertionClaims;
  let keys = keySets.get(address);
  if (!keys) {
    keys = createRemoteJWKSet(new URL(address), { timeoutDuration: 5000, cooldownDuration: 10_000 });
    keySets.set(address, keys);
  }
  try {
    const { payload } = await jwtVerify(token, keys, {
      // Fixed here, never taken from the token (RFC 8725 §3.1).
      algorithms: ["ES256"],
      issuer,
      audience,
      clockTolerance: options.clockToleranceSeconds ?? 5,
      requiredClaims: ["sub", "iat", "exp"],
      ...(options.currentDate === undefined ? {} : { currentDate: options.currentDate }),
    });
    claims = readClaims(payload);
  } catch (error) {
    throw explain(error, address);
  }
  if (options.route !== undefined && claims.gateway_route !== options.route) {
    throw failure("wrong-route", `the assertion is not for the route ${JSON.stringify(options.route)}`);
  }
  return claims;
}

function readExpected(options: ExpectedAddress): { issuer: string; audience: string; address: string } {
  if ("gateway" in options) {
    const { origin, hostname } = new URL(options.gateway);
    return { issuer: hostname, audience: hostname, address: origin + JWKS_PATH };
  }
  const { audience, issuer = audience, jwksUrl = `https://${issuer}${JWKS_PATH}` } = options;
  return { issuer, audience, address: String(jwksUrl) };
}

function readHeader(request: RequestLike): string {
  const values = ASSERTION_HEADERS.flatMap((name) => headerValues(request, name));
  const [token] = values;
  if (token === undefined || token === "") {
    throw new AssertionError("missing", `Cannot verify the request: it has no ${ASSERTION_HEADERS[0]} header`);
  }
  // Two different values: at least one did not come from the gateway.
  if (values.some((value) => value !== token)) {
    throw new AssertionError("malformed", "Cannot verify the request: it has different assertions");
  }
  return token;
}

function headerValues(request: RequestLike, name: string): string[] {
  const { headers } = request;
  if (isFetchHeaders(headers)) {
    const value = headers.get(name);
    return value === null ? [] : [value];
  }
  return Object.entries(headers).flatMap(([key, value]) => {
    if (key.toLowerCase() !== name || value === undefined) return [];
    return typeof value === "string" ? [value] : [...value];
  });
}

function isFetchHeaders(headers: RequestLike["headers"]): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}

const OWN_CLAIMS = new Set(
  "iss sub aud exp nbf iat jti user email name groups groups_omitted sid gateway_route route".split(" "),
);

function readClaims(payload: JWTPayload): AssertionClaims {
  const { sub = "", iss = "", iat = 0, exp = 0 } = payload;
  const text = (name: string): string => {
    const value = payload[name];
    return typeof value === "string" ? value : "";
  };
  const groups = Array.isArray(payload["groups"]) ? payload["groups"].filter((group) => typeof group === "string") : [];
  const aud = typeof payload.aud === "string" ? payload.aud : (payload.aud?.[0] ?? "");
  return {
    sub,
    iss,
    iat,
    exp,
    aud,
    user: text("user"),
    email: text("email"),
    name: text("name"),
    sid: text("sid"),
    gateway_route: text("gateway_route"),
    groups,
    ...(payload["groups"] === undefined ? { groupsUnknown: true as const } : {}),
    claims: Object.fromEntries(Object.entries(payload).filter(([name]) => !OWN_CLAIMS.has(name))),
  };
}

/** Omits the token and the library's error, which may contain its payload. */
function explain(error: unknown, address: string): AssertionError {
  if (error instanceof errors.JWTExpired) return failure("expired", "the assertion has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isAddressee = error.claim === "aud" || error.claim === "iss";
    return failure(isAddressee ? "wrong-audience" : "malformed", `the claim "${error.claim}" is not as expected`);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) {
    return failure("bad-signature", "the assertion was not signed by the gateway");
  }
  if (
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported
  ) {
    return failure("malformed", "the assertion is not an ES256 JWT");
  }
  return failure("keys-unavailable", `the gateway's keys cannot be fetched from ${address}`, error);
}

function failure(reason: AssertionFailure, state: string, cause?: unknown): AssertionError {
  return new AssertionError(reason, `Cannot verify the request: ${state}`, cause === undefined ? undefined : { cause });
}
