/**
 * What decisions read of devices that a session has proven.
 *
 * Promise: a device counts only while its record is there, is this user's, and is the very registration that was proven;
 * what was known of it before a removal or a withdrawn approval counts nowhere, as soon as a process has learnt of that.
 */
import type { ProvenDevice } from "../principal.ts";
import type { DeviceProof, DeviceRecord, SessionRecords } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";

export interface DeviceFactsDeps {
  readonly records: Pick<SessionRecords, "devices">;
  readonly revocations: Pick<Revocations, "isRevoked">;
}

/**
 * Key of the revocation feed for what is known of a device by now. It changes with each withdrawal, so that an approval
 * given again is not revoked with the one before.
 */
export function deviceKey({ id, withdrawals }: Pick<DeviceRecord, "id" | "withdrawals">): string {
  return `device:${id}.${withdrawals}`;
}

/** @returns undefined when none of them counts any more */
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
  // After the reading, during which they may have come.
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

/** True when something of what was known of these devices has been revoked. */
export function isOutdated(
  devices: readonly ProvenDevice[] | undefined,
  revocations: Pick<Revocations, "isRevoked">,
): boolean {
  return devices?.some(({ revocationKey }) => revocations.isRevoked([revocationKey])) === true;
}
