/** Executes each signed statement once across all processes, and marks it as used only after success. */
import { ignore } from "../../shared/ignore.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Store } from "../../store/store.ts";
import type { Statement } from "./logout-claims.ts";

/** Longer than a revocation takes. If a process dies, a repetition waits only this long. */
const LEASE_MS = 30_000;

export type Once<T> =
  | { readonly state: "done"; readonly value: T }
  | { readonly state: "used" }
  | { readonly state: "busy" };

/**
 * Executes a statement unless that was done or is in progress. After a failure nothing is stored, and the sender may
 * repeat it.
 *
 * @param kind statements of different kinds may have the same id
 * @returns "busy" while another request executes it, or after a process died doing so: the outcome is unknown
 * @throws errors of `work`, and GatewayError `store.unavailable`
 */
export async function once<T>(
  store: Store,
  { kind, issuer, statement }: { readonly kind: string; readonly issuer: string; readonly statement: Statement },
  work: (hash: string) => Promise<T>,
): Promise<Once<T>> {
  const hash = hashSecret(JSON.stringify([kind, issuer, statement.jti]));
  const key = `logout-token:${hash}`;
  const lease = await store.lease(key, LEASE_MS);
  if (!lease) return { state: "busy" };
  try {
    if ((await store.get(key)) !== undefined) return { state: "used" };
    const value = await work(hash);
    await store.put(key, {}, { expiresAt: statement.rememberUntil });
    return { state: "done", value };
  } finally {
    await lease.release().catch(ignore);
  }
}
