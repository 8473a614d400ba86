/** Checks DPoP proofs of requests, with the nonces of the gateway. */
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Keys } from "../../shared/keys.ts";
import { createProofNonces } from "./nonces.ts";
import { checkProof, createProofKeys, type ProvenRequest } from "./proof.ts";

export const NONCE_HEADER = "dpop-nonce";

export interface ProofRequest extends Omit<ProvenRequest, "now"> {
  /** Values of the header `DPoP`. */
  readonly headers: readonly string[];
  /** Whether the proof must contain a current nonce of the gateway. */
  readonly needsNonce: boolean;
}

export type CheckedProof =
  /** SHA-256 of the public key (RFC 7638), in base64url. */
  | { readonly ok: true; readonly thumbprint: string }
  /** nonce: valid, but without a current nonce. `problem`: for the log. */
  | { readonly ok: false; readonly reason: "invalid" | "nonce"; readonly problem: string };

export interface Proofs {
  /** The current nonce, for the header `DPoP-Nonce`. */
  nonce(): string;
  check(request: ProofRequest): CheckedProof;
}

export function createProofs({ keys, clock }: { readonly keys: Keys; readonly clock: Clock }): Proofs {
  const nonces = createProofNonces({ keys, clock });
  const known = createProofKeys();
  return {
    nonce: () => nonces.current(),
    check({ headers, needsNonce, ...request }) {
      // Only keys of clients with an access token are remembered: unauthenticated requests must not displace them.
      const keysOfClients = request.accessToken === undefined ? undefined : known;
      const proof = checkProof(headers, { ...request, now: epochSeconds(clock) }, keysOfClients);
      if (!proof.ok) return { ok: false, reason: "invalid", problem: proof.problem };
      if (needsNonce && !nonces.isValid(proof.nonce))
        return { ok: false, reason: "nonce", problem: "its nonce is missing or old" };
      return { ok: true, thumbprint: proof.thumbprint };
    },
  };
}
