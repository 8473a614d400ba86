/**
 * Nonces of the gateway for DPoP proofs (RFC 9449 §8): a MAC over the current minute, so that every replica knows the
 * nonces of all others, and nothing is stored.
 */
import { createHmac } from "node:crypto";

import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Keys } from "../../shared/keys.ts";

const STEP_SECONDS = 60;
/** Steps before and after the current one: a client has two minutes, and clocks of replicas may be two minutes apart. */
const STEPS = 2;

export interface ProofNonces {
  /** The current nonce, for the header `DPoP-Nonce`. */
  current(): string;
  isValid(nonce: string | undefined): boolean;
}

export function createProofNonces({ keys, clock }: { readonly keys: Keys; readonly clock: Clock }): ProofNonces {
  const made = new Map<number, readonly string[]>();
  const stepNow = (): number => Math.floor(epochSeconds(clock) / STEP_SECONDS);
  /** One for each shared secret, the current one first. */
  const noncesOf = (step: number): readonly string[] => {
    let nonces = made.get(step);
    if (!nonces) {
      if (made.size > 4 * STEPS) made.clear();
      nonces = keys
        .derive("dpop-nonce")
        .map((key) => createHmac("sha256", key).update(String(step)).digest("base64url"));
      made.set(step, nonces);
    }
    return nonces;
  };
  return {
    current: () => noncesOf(stepNow())[0] ?? "",
    isValid(nonce) {
      if (nonce === undefined) return false;
      const now = stepNow();
      for (let step = now - STEPS; step <= now + STEPS; step += 1) if (noncesOf(step).includes(nonce)) return true;
      return false;
    },
  };
}
