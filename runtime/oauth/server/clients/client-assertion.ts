/**
 * `private_key_jwt`: a client proves itself with a signed statement instead of a secret (RFC 7523 §3).
 *
 * Untrusted input: the assertion. Promises: it counts only when a key of this client signed it, for us alone, and once.
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

/** The only `client_assertion_type` there is (RFC 7523 §2.2). */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const MAX_ASSERTION_CHARACTERS = 8192;
const CLOCK_SKEW_SECONDS = 30;
/** An assertion is made for one request; one that is good for longer is better copied than kept. */
const MAX_LIFE_SECONDS = 3600;

export interface ClientAssertionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly clientKeys: ClientKeys;
  /** Assertions of one peer for one client that are not good. */
  readonly failedProofs: FailureLimit;
}

export interface AssertionPlace {
  /** What it may be addressed to: our issuer identifier, or the endpoint it was sent to. */
  readonly audiences: readonly string[];
  /** `mcp_allowed_client_id_domains`. */
  readonly documentDomains: readonly DomainPattern[];
  /** Address of whoever sent it. */
  readonly peer: string;
}

/** Who an assertion says it is from, before anything of it is believed. */
export function assertedClientId(assertion: string): StepResult<string> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return failed("too long");
  let subject: unknown;
  try {
    subject = decodeJwt(assertion).sub;
  } catch {
    return failed("not a JWT");
  }
  if (subject === undefined) return failed("no sub");
  // Of text by its standard (RFC 7519 §4.1.2): a malformed request rather than a failed proof.
  return typeof subject === "string" ? pass(subject) : withStatus(failed("sub is not text"), 400);
}

/** The client, when the assertion is good. What is not is counted against the peer: verifying costs more than signing. */
export async function verifyAssertion(
  deps: ClientAssertionDeps,
  client: Client,
  assertion: string,
  place: AssertionPlace,
): Promise<StepResult<Client>> {
  // Of each client apart: behind a balancer that hides addresses all are one peer, and a stranger's client is not another's.
  const prover = `${networkOf(place.peer)} ${hashSecret(client.id)}`;
  const waitSeconds = deps.failedProofs.take(prover);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many failed assertions of one peer");
  let counts = false;
  try {
    const proven = await verifyGood(deps, client, assertion, place);
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
  place: AssertionPlace,
): Promise<StepResult<Client>> {
  // A key of this client must have signed it.
  const verified = await verifySignature(deps, client, assertion, place);
  if (!verified.ok) return verified;
  const { aud, jti, exp = 0 } = verified.value;

  // It must be for us alone: what others may present too, they could present here (RFC 7523 §3, 3).
  if (Array.isArray(aud) && aud.length !== 1) return failed("several audiences");

  // It must end soon.
  const now = epochSeconds(deps.clock);
  if (exp - now > MAX_LIFE_SECONDS + CLOCK_SKEW_SECONDS) return failed("good for more than an hour");

  // It must be new: "the authorization server MAY ensure that JWTs are not replayed" (RFC 7523 §3, 7); we do.
  if (!isUsableId(jti)) return failed("no usable jti");
  const noted = await deps.store.put(
    assertionKey(hashSecret(JSON.stringify([client.id, jti]))),
    { schema: 1 },
    // Ends may lie between seconds (RFC 7519 §2, NumericDate).
    { ifVersion: 0, expiresAt: Math.ceil(exp) + CLOCK_SKEW_SECONDS + 1 },
  );
  return noted.ok ? pass(client) : failed("jti used before");
}

async function verifySignature(
  deps: ClientAssertionDeps,
  client: Client,
  assertion: string,
  { audiences, documentDomains, peer }: AssertionPlace,
): Promise<StepResult<JWTPayload>> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return failed("too long");
  const askedAtMs = deps.clock.now();
  for (let isRetry = false; ; isRetry = true) {
    const keys = await deps.clientKeys.read(client.metadata, documentDomains, peer, isRetry ? askedAtMs : undefined);
    if (!keys.ok) return keys;
    try {
      return pass(await verifyWith(keys.value, assertion, client.id, audiences, askedAtMs));
    } catch (error) {
      // A client that changed its key publishes the new one before it signs with it: look once more.
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
    // Never what the header alone says: "none" and HMACs are not on the list.
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
  // Trying them in turn would let anybody choose how much work an assertion is.
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "several keys fit, must name one by kid";
  return error instanceof errors.JOSEError ? `${error.code} ${error.message}` : "not a JWT of a usable key";
}

function failed(detail: string): ReturnType<typeof refuse> {
  return refuse("invalid_client", "Client authentication failed", `assertion: ${detail}`);
}
