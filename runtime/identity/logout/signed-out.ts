/**
 * Records of sign-outs by an issuer, stored while earlier statements of the issuer may still arrive: a sign-in in
 * progress, or an unused assertion.
 *
 * Promise: a sign-out is recorded before the search for things to revoke. New sessions and grants check this record
 * after they are stored. So one of the two always sees the other.
 */
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { GatewayError } from "../../shared/errors.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { Store } from "../../store/store.ts";

export interface SignedOutDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** `signed-out:<hash>`. */
interface SignedOutRecord {
  /** Epoch seconds, by the issuer's clock: everything issued until then is invalid. */
  readonly at: number;
}

/** Subject of a sign-out. `grants`: also a user's grants of MCP clients. */
export type SignedOut =
  | { readonly kind: "session"; readonly issuer: string; readonly sid: string }
  | { readonly kind: "user" | "grants"; readonly userId: UserId };

/** Assertions live for at most one hour, and sign-ins are shorter. */
const KEPT_SECONDS = 2 * 3600;
const MAX_CONFLICTS = 8;

/** Tag of the sessions signed in under one provider session. */
export function providerSessionTag(issuer: string, sid: string): string {
  return `provider-session:${hashSecret(JSON.stringify([issuer, sid]))}`;
}

/** @param at epoch seconds, by the issuer's clock */
export async function recordSignOut({ store, clock }: SignedOutDeps, what: SignedOut, at: number): Promise<void> {
  const key = keyOf(what);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const earlier = await store.get<SignedOutRecord>(key);
    const put = await store.put(
      key,
      { at: Math.max(at, earlier?.value.at ?? 0) },
      { ifVersion: earlier?.version ?? 0, expiresAt: epochSeconds(clock) + KEPT_SECONDS },
    );
    if (put.ok) return;
  }
  throw new GatewayError("logout.conflict", "Cannot note a sign-out: the record keeps changing");
}

/**
 * Returns true if a sign-out invalidates what an issuer stated.
 *
 * @param issuedAt epoch seconds, by the issuer's clock; statements in the same second as the sign-out are also invalid
 */
export async function isSignedOut(store: Pick<Store, "get">, what: SignedOut, issuedAt: number): Promise<boolean> {
  const noted = await store.get<SignedOutRecord>(keyOf(what));
  // A provider session that has ended never becomes valid again, whatever the time of the statement.
  return noted !== undefined && (what.kind === "session" || issuedAt <= noted.value.at);
}

function keyOf(what: SignedOut): string {
  const named = what.kind === "session" ? [what.issuer, what.sid] : [what.userId];
  return `signed-out:${hashSecret(JSON.stringify([what.kind, ...named]))}`;
}
