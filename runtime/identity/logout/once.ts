/** A signed statement counts once, in all processes together, and not at all until what it asks for is done. */
import { ignore } from "../../shared/ignore.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Store } from "../../store/store.ts";
import type { Statement } from "./logout-claims.ts";

/** Longer than ending takes; a process that dies meanwhile keeps a repetition waiting no longer. */
const LEASE_MS = 30_000;

export type Once<T> =
  | { readonly state: "done"; readonly value: T }
  | { readonly state: "used" }
  | { readonly state: "busy" };

/**
 * Does what a statement asks for, unless that was done on it or is being done. When it fails nothing is noted: whoever
 * sent it is told so, and sends the same again.
 *
 * @param kind statements of different kinds may have the same id
 * busy: it is being done, or was when a process died; whether it comes about is not known yet.
 *
 * @throws what `work` throws, and GatewayError `store.unavailable`
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
