/**
 * Service accounts: named accounts that call MCP servers without a user. Administrators create and delete them.
 *
 * Promise: their requests are subject to the same policies and records as users' requests. The token is never stored.
 */
import { randomHandle } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import type { ExternalTokenClaims, ExternalTokens } from "../external-token.ts";
import type { User } from "../principal.ts";
import { isServiceAccountName, serviceAccountUserId } from "../../shared/user-id.ts";
import { createRecords, userTag, type ServiceAccountRecord } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";

/** Tag of all service accounts. */
const ALL_TAG = "service-accounts";

export interface NewServiceAccount {
  readonly name: string;
  readonly email: string;
  readonly groups: readonly string[];
  readonly owner?: string;
  /** Epoch seconds; absent: until revoked, for accounts with a client. */
  readonly expiresAt?: number;
  /** The client that gets tokens for the account. Without a client, `audience` is the audience of its printed token. */
  readonly clientId?: string;
  readonly audience?: string;
}

export type CreateServiceAccount =
  | { readonly ok: true; readonly id: string; readonly record: ServiceAccountRecord }
  | { readonly ok: false; readonly reason: "name" | "owner" | "taken" };

export interface ServiceAccountDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export async function createServiceAccount(
  deps: ServiceAccountDeps,
  account: NewServiceAccount,
): Promise<CreateServiceAccount> {
  if (!isServiceAccountName(account.name)) return { ok: false, reason: "name" };
  if (account.owner !== undefined && !/^[^\p{C}]{1,100}$/u.test(account.owner)) return { ok: false, reason: "owner" };
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

/** Revokes an account in every process within 2 s. */
export function endServiceAccount(
  { revocations }: { readonly revocations: Pick<Revocations, "revoke"> },
  id: string,
): Promise<void> {
  return revocations.revoke(`service-account:${id}`);
}

/** The only token of an account without a client: printed once, never stored. */
export function mintServiceAccountToken(
  externalTokens: ExternalTokens,
  account: { readonly id: string; readonly record: ServiceAccountRecord },
  audience: string,
  expiresAt: number,
  ofClient: Partial<Pick<ExternalTokenClaims, "clientId" | "scopes" | "keyThumbprint">> = {},
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

/** User for policies and records. No provider's user has such an id, see shared/user-id.ts. */
export function serviceAccountUser({ name, email, groups }: ServiceAccountRecord): User {
  return { id: serviceAccountUserId(name), email, name, groups, claims: {}, version: 1 };
}
