/**
 * Checks the claims of an ID-JAG after its signature. Pure.
 *
 * Untrusted input: the claims. The issuer is trusted with users, but its assertion may be meant for others. Promises:
 * anything not understood is rejected. A token is for one MCP server, which the assertion or the request names.
 *
 * @see draft-ietf-oauth-identity-assertion-authz-grant, MCP enterprise-managed authorization
 */
import type { TrustedIssuer } from "../../../features/sign-in/trusted-issuers.ts";
import { type AssertionTimes, CLOCK_SKEW_SECONDS, isTime, readTimes } from "../../../issuers/assertion-times.ts";
import { isUsableId } from "../../../issuers/read-unverified.ts";
import { trustedEmail } from "../../../issuers/trusted-email.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { providerUserId, type UserId } from "../../../shared/user-id.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import { findServer, type Issuer } from "../find-issuer.ts";
import { DEFAULT_SCOPE } from "../scope.ts";

export type IdJagClaims = Readonly<Record<string, unknown>>;

/** One error text for all problems of an assertion. The exact reason goes to the log. */
export function badAssertion(detail: string, kind: "id-jag" | "workload" = "id-jag"): ReturnType<typeof refuse> {
  return refuse("invalid_grant", "Invalid assertion", `${kind}: ${detail}`);
}

/** It must be for this authorization server only. */
export function checkAudience({ aud }: IdJagClaims, issuer: Issuer): StepResult<undefined> {
  // A single audience: others in a list could also present the assertion.
  const [only, ...others]: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  // URL libraries add a trailing slash.
  const isOurs = others.length === 0 && (only === issuer.origin || only === `${issuer.origin}/`);
  return isOurs ? pass(undefined) : badAssertion("aud is not only this issuer");
}

export function checkTimes(claims: IdJagClaims, now: number, maxAgeSeconds: number): StepResult<AssertionTimes> {
  const times = readTimes(claims, now, maxAgeSeconds, CLOCK_SKEW_SECONDS);
  return times.ok ? pass(times) : badAssertion(times.problem);
}

/** The client in the assertion must be the authenticated one, compared as text. */
export function checkClient(
  { client_id: named }: IdJagClaims,
  clientId: string,
  entry: TrustedIssuer,
): StepResult<undefined> {
  if (named !== clientId) return badAssertion("client_id is another client");
  if (entry.allowedClients !== undefined && !entry.allowedClients.has(clientId))
    return badAssertion("the client is not among allowed_clients");
  return pass(undefined);
}

/**
 * Returns the only MCP server of the token.
 *
 * @param requested `resource` of the request, which may narrow the assertion
 */
export function chooseResource(
  { resource }: IdJagClaims,
  requested: string | undefined,
  issuer: Issuer,
): StepResult<string> {
  const named = resource === undefined ? undefined : readResources(resource, issuer);
  if (resource !== undefined && named === undefined) return badAssertion("resource is not a server of this issuer");
  if (requested !== undefined) {
    const audience = findServer(issuer, requested);
    if (audience === undefined) return refuse("invalid_target", "resource must be an MCP server of this issuer");
    if (named && !named.includes(audience))
      return refuse("invalid_target", "resource must be one that the assertion names");
    return pass(audience);
  }
  const [only, ...others] = named ?? issuer.routes.map((route) => route.mcp.resource);
  // Never the whole host: the issuer decides about one server (RFC 8707 §2).
  if (only === undefined || others.length > 0)
    return refuse("invalid_target", "resource must name one MCP server of this issuer");
  return pass(only);
}

function readResources(claim: unknown, issuer: Issuer): readonly string[] | undefined {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  const servers = new Set<string>();
  for (const value of values) {
    const server = typeof value === "string" ? findServer(issuer, value) : undefined;
    if (server === undefined) return undefined;
    servers.add(server);
  }
  return servers.size === 0 ? undefined : [...servers];
}

/** Claims that would bind or widen the token in unsupported ways. Ignoring them could drop a condition. */
const NOT_UNDERSTOOD = ["authorization_details", "cnf", "tenant", "aud_tenant"];

export function checkExtensions(claims: IdJagClaims): StepResult<undefined> {
  const found = NOT_UNDERSTOOD.find((name) => claims[name] !== undefined);
  return found === undefined ? pass(undefined) : badAssertion(`${found} is not supported`);
}

/**
 * Returns the intersection of our scopes, the assertion's and the requested ones. If the assertion has none, only the
 * scope that every token has: an issuer must name tool scopes explicitly.
 */
export function chooseScope(
  { scope: claim }: IdJagClaims,
  requested: string | undefined,
  supported: readonly string[],
): StepResult<string> {
  if (claim !== undefined && typeof claim !== "string") return badAssertion("scope is not text");
  const stated = claim === undefined ? [DEFAULT_SCOPE] : known(claim, supported);
  if (stated.length === 0) return badAssertion("scope has none of this issuer's");
  const granted =
    requested === undefined ? stated : known(requested, supported).filter((scope) => stated.includes(scope));
  return granted.length === 0
    ? refuse("invalid_scope", "scope must be one that is supported")
    : pass(granted.join(" "));
}

function known(scope: string, supported: readonly string[]): readonly string[] {
  const words = new Set(scope.split(" "));
  return supported.filter((each) => words.has(each));
}

export interface AssertedSubject {
  readonly userId: UserId;
  readonly email: string;
  readonly isEmailVerified: boolean;
}

export function readSubject(claims: IdJagClaims, entry: TrustedIssuer): StepResult<AssertedSubject> {
  const { sub } = claims;
  if (typeof sub !== "string") return badAssertion("sub is missing");
  const made = providerUserId(entry.userIssuer, sub);
  if (!made.ok) return badAssertion(`sub ${made.problem}`);
  const email = readEmail(claims, entry.emailDomains);
  return pass({ userId: made.id, email, isEmailVerified: email !== "" && claims["email_verified"] === true });
}

function readEmail({ email, email_verified: verified }: IdJagClaims, domains: ReadonlySet<string>): string {
  return verified === undefined || verified === true ? trustedEmail(email, domains) : "";
}

/** Time and method of the user's authentication at the issuer, and actors. For the log only. */
export interface AssertedAuthentication {
  readonly auth_time?: number;
  readonly amr?: readonly string[];
  /** Subjects, the current actor first (RFC 8693 §4.1). */
  readonly act?: readonly string[];
}

const MAX_LOGGED = 8;
const MAX_LOGGED_CHARACTERS = 128;

/** Values of other shapes are skipped, since nothing depends on them. */
export function readAuthentication({ auth_time: time, amr, act }: IdJagClaims): AssertedAuthentication {
  const methods = Array.isArray(amr) ? amr.filter((each) => typeof each === "string") : [];
  const actors: string[] = [];
  for (let actor = act; isRecord(actor) && actors.length < MAX_LOGGED; actor = actor["act"]) {
    if (typeof actor["sub"] === "string") actors.push(actor["sub"]);
    else break;
  }
  return {
    ...(isTime(time) ? { auth_time: time } : {}),
    ...(methods.length === 0 ? {} : { amr: cut(methods) }),
    ...(actors.length === 0 ? {} : { act: cut(actors) }),
  };
}

function cut(texts: readonly string[]): readonly string[] {
  return texts.slice(0, MAX_LOGGED).map((text) => text.slice(0, MAX_LOGGED_CHARACTERS));
}

export function readId({ jti }: IdJagClaims): StepResult<string> {
  return isUsableId(jti) ? pass(jti) : badAssertion("no usable jti");
}
