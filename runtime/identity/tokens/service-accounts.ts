/**
 * Service accounts: machines with a name, which call MCP servers without a person. An administrator makes and ends them.
 *
 * Promise: what such a token may do is decided like a person's, by the same policy, per request, and recorded alike; the
 * token itself is kept nowhere.
 */
import { randomHandle } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import type { ExternalTokens } from "../external-token.ts";
import type { User } from "../principal.ts";
import { isServiceAccountName, serviceAccountUserId } from "../../shared/user-id.ts";
import { createRecords, userTag, type ServiceAccountRecord } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";

/** Lists all of them. */
const ALL_TAG = "service-accounts";

export interface NewServiceAccount {
  readonly name: string;
  readonly email: string;
  readonly groups: readonly string[];
  /** Epoch seconds; absent = until it is revoked, for accounts behind a client. */
  readonly expiresAt?: number;
  /** The client that gets tokens for it; without one `audience` is what its printed token will be good for. */
  readonly clientId?: string;
  readonly audience?: string;
}

export type CreateServiceAccount =
  | { readonly ok: true; readonly id: string; readonly record: ServiceAccountRecord }
  | { readonly ok: false; readonly reason: "name" | "taken" };

export interface ServiceAccountDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export async function createServiceAccount(
  deps: ServiceAccountDeps,
  account: NewServiceAccount,
): Promise<CreateServiceAccount> {
  if (!isServiceAccountName(account.name)) return { ok: false, reason: "name" };
  const lease = await deps.store.lease(`service-account-name:${account.name}`, 10_000);
  if (!lease) return { ok: false, reason: "taken" };
  try {
    const living = await listServiceAccounts(deps.store);
    if (living.some(({ value }) => value.name === account.name)) return { ok: false, reason: "taken" };
    const { expiresAt, ...facts } = account;
    const id = randomHandle(16);
    const record: ServiceAccountRecord = { ...facts, createdAt: epochSeconds(deps.clock) };
    await createRecords(deps.store).serviceAccounts.put(id, record, {
      ifVersion: 0,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      tags: [
        ALL_TAG,
        userTag(serviceAccountUser(record).id),
        ...(account.clientId === undefined ? [] : [`client:${account.clientId}`]),
      ],
    });
    return { ok: true, id, record };
  } finally {
    await lease.release();
  }
}

export function listServiceAccounts(store: Store): Promise<readonly StoredRecord<ServiceAccountRecord>[]> {
  return store.list<ServiceAccountRecord>(ALL_TAG);
}

export function pageServiceAccounts(
  store: Store,
  page: PageRequest,
): Promise<PageOf<StoredRecord<ServiceAccountRecord>>> {
  return pageOf<ServiceAccountRecord, StoredRecord<ServiceAccountRecord>>(
    store,
    { prefix: "service-account:", tag: ALL_TAG },
    page,
    (record) => record,
  );
}

/** Ends it everywhere: seen by every process within 2 s. */
export function endServiceAccount(
  { revocations }: { readonly revocations: Pick<Revocations, "revoke"> },
  id: string,
): Promise<void> {
  return revocations.revoke(`service-account:${id}`);
}

/** The one token of an account without a client: printed once, kept nowhere. */
export function mintServiceAccountToken(
  externalTokens: ExternalTokens,
  account: { readonly id: string; readonly record: ServiceAccountRecord },
  audience: string,
  expiresAt: number,
  ofClient: { readonly clientId?: string; readonly scopes?: readonly string[] } = {},
): string {
  return externalTokens.mint({
    kind: "service-account",
    userId: serviceAccountUser(account.record).id,
    accountId: account.id,
    ...ofClient,
    audience,
    expiresAt,
  });
}

/** What policies and records see. No provider's user has such an id, see shared/user-id.ts. */
export function serviceAccountUser({ name, email, groups }: ServiceAccountRecord): User {
  return { id: serviceAccountUserId(name), email, name, groups, claims: {}, version: 1 };
}
