/**
 * `private_key_jwt`: a client authenticates with a signed statement instead of a secret (RFC 7523 §3).
 *
 * Untrusted input: the assertion. Promises: it must be signed with a key of this client, for our audience only, and
 * works once.
 */
import { createLocalJWKSet, decodeJwt, errors, jwtVerify, type JSONWebKeySet, type JWTPayload } from "jose";

import type { DomainPattern } from "../../../settings/domains.ts";
import { isUsableId } from "../../../issuers/read-unverified.ts";
import { hashSecret } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { networkOf, type FailureLimit } from "../../../shared/rate-limit.ts";
import type { Store } from "../../../store/store.ts";
import { pass, refuse, tooMany, withStatus, type StepResult } from "../answer.ts";
import type { ClientKeys } from "./client-keys.ts";
import { SIGNING_ALGORITHMS } from "../../../shared/key-set.ts";
import type { Client } from "./client.ts";
import { assertionKey } from "../grant-records.ts";

/** The only defined `client_assertion_type` (RFC 7523 §2.2). */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const MAX_ASSERTION_CHARACTERS = 8192;
const CLOCK_SKEW_SECONDS = 30;
/** An assertion is made for one request. A longer validity mainly helps attackers who copy it. */
const MAX_LIFE_SECONDS = 3600;

export interface ClientAssertionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly clientKeys: ClientKeys;
  /** Limits invalid assertions per peer and client. */
  readonly failedProofs: FailureLimit;
}

export interface AssertionContext {
  /** Accepted audiences: our issuer identifier, or the endpoint of the request. */
  readonly audiences: readonly string[];
  /** `mcp_allowed_client_id_domains`. */
  readonly documentDomains: readonly DomainPattern[];
  /** Address of the sender. */
  readonly peer: string;
}

/** Returns the claimed client of an unverified assertion. */
export function assertedClientId(assertion: string): StepResult<string> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return failed("too long");
  let subject: unknown;
  try {
    subject = decodeJwt(assertion).sub;
  } catch {
    return failed("not a JWT");
  }
  if (subject === undefined) return failed("no sub");
  // `sub` must be text (RFC 7519 §4.1.2): a malformed request rather than a failed authentication.
  return typeof subject === "string" ? pass(subject) : withStatus(failed("sub is not text"), 400);
}

/** Verifies an assertion and returns its client. Failures count against the peer: verifying costs more than signing. */
export async function verifyAssertion(
  deps: ClientAssertionDeps,
  client: Client,
  assertion: string,
  context: AssertionContext,
): Promise<StepResult<Client>> {
  // Per client: behind a load balancer that hides addresses all callers are one peer, and one client must not block another.
  const prover = `${networkOf(context.peer)} ${hashSecret(client.id)}`;
  const waitSeconds = deps.failedProofs.take(prover);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many failed assertions of one peer");
  let counts = false;
  try {
    const proven = await verifyGood(deps, client, assertion, context);
    counts = !proven.ok && proven.refusal.error === "invalid_client";
    return proven;
  } finally {
    if (!counts) deps.failedProofs.giveBack(prover);
  }
}

async function verifyGood(
  deps: ClientAssertionDeps,
  client: Client,
  assertion: string,
  context: AssertionContext,
): Promise<StepResult<Client>> {
  // A key of this client must have signed it.
  const verified = await verifySignature(deps, client, assertion, context);
  if (!verified.ok) return verified;
  const { aud, jti, exp = 0 } = verified.value;

  // Our audience only: other audiences could present the assertion here (RFC 7523 §3, 3).
  if (Array.isArray(aud) && aud.length !== 1) return failed("several audiences");

  // The validity must be short.
  const now = epochSeconds(deps.clock);
  if (exp - now > MAX_LIFE_SECONDS + CLOCK_SKEW_SECONDS) return failed("valid for more than an hour");

  // It must be new: "the authorization server MAY ensure that JWTs are not replayed" (RFC 7523 §3, 7); we do.
  if (!isUsableId(jti)) return failed("no usable jti");
  const noted = await deps.store.put(
    assertionKey(hashSecret(JSON.stringify([client.id, jti]))),
    { schema: 1 },
    // `exp` may have a fraction (RFC 7519 §2, NumericDate).
    { ifVersion: 0, expiresAt: Math.ceil(exp) + CLOCK_SKEW_SECONDS + 1 },
  );
  return noted.ok ? pass(client) : failed("jti used before");
}

async function verifySignature(
  deps: ClientAssertionDeps,
  client: Client,
  assertion: string,
  { audiences, documentDomains, peer }: AssertionContext,
): Promise<StepResult<JWTPayload>> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return failed("too long");
  const askedAtMs = deps.clock.now();
  for (let isRetry = false; ; isRetry = true) {
    const keys = await deps.clientKeys.read(client.metadata, documentDomains, peer, isRetry ? askedAtMs : undefined);
    if (!keys.ok) return keys;
    try {
      return pass(await verifyWith(keys.value, assertion, client.id, audiences, askedAtMs));
    } catch (error) {
      // A client publishes a new key before using it: read the keys once more.
      const isUnknownKey = error instanceof errors.JWKSNoMatchingKey && client.metadata.jwks === undefined;
      if (isUnknownKey && !isRetry) continue;
      return failed(reasonOf(error));
    }
  }
}

/** @throws JOSEError */
async function verifyWith(
  keys: JSONWebKeySet,
  assertion: string,
  clientId: string,
  audiences: readonly string[],
  nowMs: number,
): Promise<JWTPayload> {
  const options = {
    // The header alone decides nothing: "none" and HMACs are not on the list.
    algorithms: [...SIGNING_ALGORITHMS],
    // "iss" and "sub" MUST be the client_id of the OAuth client (RFC 7523 §3, 1 and 2B).
    issuer: clientId,
    subject: clientId,
    audience: [...audiences],
    requiredClaims: ["iss", "sub", "aud", "exp", "jti"],
    currentDate: new Date(nowMs),
    clockTolerance: CLOCK_SKEW_SECONDS,
  };
  return (await jwtVerify(assertion, createLocalJWKSet(keys), options)).payload;
}

function reasonOf(error: unknown): string {
  // Trying several keys would let the caller choose how much work one assertion causes.
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "several keys match, must name one by kid";
  return error instanceof errors.JOSEError ? `${error.code} ${error.message}` : "not a JWT of a usable key";
}

function failed(detail: string): ReturnType<typeof refuse> {
  return refuse("invalid_client", "Client authentication failed", `assertion: ${detail}`);
}
