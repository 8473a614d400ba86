/**
 * `private_key_jwt`: a client proves itself with a signed statement instead of a secret (RFC 7523 §3).
 *
 * Untrusted input: the assertion. Promises: it counts only when a key of this client signed it, for us alone, and once.
 */
import { createLocalJWKSet, decodeJwt, errors, jwtVerify, type JSONWebKeySet, type JWTPayload } from "jose";

import type { DomainPattern } from "../config/domains.ts";
import { hashSecret } from "../keys.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Store } from "../store/store.ts";
import { pass, refuse, type Step } from "./answer.ts";
import { SIGNING_ALGORITHMS, type ClientKeys } from "./client-keys.ts";
import type { Client } from "./client.ts";
import { assertionKey } from "./records.ts";

/** The only `client_assertion_type` there is (RFC 7523 §2.2). */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const MAX_ASSERTION_CHARACTERS = 8192;
const MAX_ID_CHARACTERS = 512;
const CLOCK_SKEW_SECONDS = 30;
/** An assertion is made for one request; one that is good for longer is better copied than kept. */
const MAX_LIFE_SECONDS = 3600;

export interface AssertionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly clientKeys: ClientKeys;
}

/** Who an assertion says it is from, before anything of it is believed. */
export function assertedClientId(assertion: string): string | undefined {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return undefined;
  try {
    return decodeJwt(assertion).sub;
  } catch {
    return undefined;
  }
}

/** @param audiences what it may be addressed to: our issuer identifier, or the endpoint it was sent to */
export async function verifyAssertion(
  deps: AssertionDeps,
  client: Client,
  assertion: string,
  audiences: readonly string[],
  domains: readonly DomainPattern[],
): Promise<Step<Client>> {
  // A key of this client must have signed it.
  const verified = await verifySignature(deps, client, assertion, audiences, domains);
  if (!verified.ok) return verified;
  const { aud, jti, exp = 0 } = verified.value;

  // It must be for us alone: what others may present too, they could present here (RFC 7523 §3, 3).
  if (Array.isArray(aud) && aud.length !== 1) return failed("several audiences");

  // It must end soon.
  const now = epochSeconds(deps.clock);
  if (exp - now > MAX_LIFE_SECONDS + CLOCK_SKEW_SECONDS) return failed("good for more than an hour");

  // It must be new: "the authorization server MAY ensure that JWTs are not replayed" (RFC 7523 §3, 7); we do.
  if (typeof jti !== "string" || jti === "" || jti.length > MAX_ID_CHARACTERS) return failed("no usable jti");
  const noted = await deps.store.put(
    assertionKey(hashSecret(JSON.stringify([client.id, jti]))),
    { schema: 1 },
    { ifVersion: 0, expiresAt: exp + CLOCK_SKEW_SECONDS + 1 },
  );
  return noted.ok ? pass(client) : failed("jti used before");
}

async function verifySignature(
  deps: AssertionDeps,
  client: Client,
  assertion: string,
  audiences: readonly string[],
  domains: readonly DomainPattern[],
): Promise<Step<JWTPayload>> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return failed("too long");
  const askedAtMs = deps.clock.now();
  for (let isRetry = false; ; isRetry = true) {
    const keys = await deps.clientKeys.read(client.metadata, domains, isRetry ? askedAtMs : undefined);
    if (!keys.ok) return keys;
    try {
      return pass(await verifyWith(keys.value, assertion, client.id, audiences, askedAtMs));
    } catch (error) {
      // A client that changed its key publishes the new one before it signs with it: look once more.
      const isUnknownKey = error instanceof errors.JWKSNoMatchingKey && client.metadata.jwks === undefined;
      if (isUnknownKey && !isRetry) continue;
      return failed(error instanceof errors.JOSEError ? `${error.code} ${error.message}` : "not a JWT of a usable key");
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
  try {
    return (await jwtVerify(assertion, createLocalJWKSet(keys), options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // Without a kid several keys may be meant; one of them must fit.
    for await (const key of error) {
      try {
        return (await jwtVerify(assertion, key, options)).payload;
      } catch (attempt) {
        if (!(attempt instanceof errors.JWSSignatureVerificationFailed)) throw attempt;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function failed(detail: string): ReturnType<typeof refuse> {
  return refuse("invalid_client", "Client authentication failed", `assertion: ${detail}`);
}
