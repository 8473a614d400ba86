/**
 * Facts about a session's proven devices, for decisions.
 *
 * Promise: a device counts only while its record exists, belongs to this user, and is the registration that was proven.
 * Facts from before a removal or a withdrawn approval are invalid in every process that has learned of it.
 */
import type { ProvenDevice } from "../principal.ts";
import type { DeviceProof, DeviceRecord, SessionRecords } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";

export interface DeviceFactsDeps {
  readonly records: Pick<SessionRecords, "devices">;
  readonly revocations: Pick<Revocations, "isRevoked">;
}

/**
 * Revocation key of the current facts about a device. It changes with each withdrawal, so that a new approval is not
 * revoked with the earlier one.
 */
export function deviceKey({ id, withdrawals }: Pick<DeviceRecord, "id" | "withdrawals">): string {
  return `device:${id}.${withdrawals}`;
}

/** @returns undefined if no device counts */
export async function provenDevices(
  deps: DeviceFactsDeps,
  proofs: readonly DeviceProof[],
  userId: string,
): Promise<readonly ProvenDevice[] | undefined> {
  const records = await Promise.all(proofs.map(({ key }) => deps.records.devices.get(key)));
  const devices = records.flatMap((record, index): ProvenDevice[] => {
    if (!record || record.value.id !== proofs[index]?.id || record.value.userId !== userId) return [];
    const { id, type, approvedAt } = record.value;
    return [{ id, type, isApproved: approvedAt !== undefined, revocationKey: deviceKey(record.value) }];
  });
  // Revocations may have arrived during the reading.
  const living = devices.filter(({ revocationKey }) => !deps.revocations.isRevoked([revocationKey]));
  return living.length === 0 ? undefined : living;
}

export function sameDevices(
  some: readonly ProvenDevice[] | undefined,
  others: readonly ProvenDevice[] | undefined,
): boolean {
  if (some === undefined || others === undefined) return some === others;
  return (
    some.length === others.length &&
    some.every(({ revocationKey, isApproved }, index) => {
      const other = others[index];
      return other?.revocationKey === revocationKey && other.isApproved === isApproved;
    })
  );
}

/** Returns true if facts about one of these devices were revoked. */
export function isOutdated(
  devices: readonly ProvenDevice[] | undefined,
  revocations: Pick<Revocations, "isRevoked">,
): boolean {
  return devices?.some(({ revocationKey }) => revocations.isRevoked([revocationKey])) === true;
}
