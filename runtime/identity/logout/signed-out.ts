/**
 * That an issuer signed somebody out, kept for as long as what it said before may still arrive: a sign-in that was under
 * way, an assertion that was not yet used.
 *
 * Promise: whoever signs somebody out notes it before looking for what there is to end, and whoever makes something looks
 * here after having stored it; so one of the two sees the other.
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
  /** Epoch seconds, by the issuer's clock: what it issued until then ends. */
  readonly at: number;
}

/** Who or what was signed out. `grants`: of a user, what MCP clients may do, too. */
export type SignedOut =
  | { readonly kind: "session"; readonly issuer: string; readonly sid: string }
  | { readonly kind: "user" | "grants"; readonly userId: UserId };

/** Assertions live for an hour at most, and sign-ins end long before. */
const KEPT_SECONDS = 2 * 3600;
const MAX_CONFLICTS = 8;

/** Lists the sessions that were signed in under one session of an issuer. */
export function providerSessionTag(issuer: string, sid: string): string {
  return `provider-session:${hashSecret(JSON.stringify([issuer, sid]))}`;
}

/** @param at epoch seconds, by the issuer's clock */
export async function noteSignedOut({ store, clock }: SignedOutDeps, what: SignedOut, at: number): Promise<void> {
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
 * Whether what an issuer said counts no more.
 *
 * @param issuedAt epoch seconds, by the issuer's clock; what it said in the very second of the sign-out has ended, too
 */
export async function isSignedOut(store: Pick<Store, "get">, what: SignedOut, issuedAt: number): Promise<boolean> {
  const noted = await store.get<SignedOutRecord>(keyOf(what));
  // A session that the issuer ended never comes back, whenever it says so.
  return noted !== undefined && (what.kind === "session" || issuedAt <= noted.value.at);
}

function keyOf(what: SignedOut): string {
  const named = what.kind === "session" ? [what.issuer, what.sid] : [what.userId];
  return `signed-out:${hashSecret(JSON.stringify([what.kind, ...named]))}`;
}
