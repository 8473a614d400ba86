/**
 * Stored devices: registered, proven, approved and removed.
 *
 * Promises: a credential is registered once, for one user. Users see and remove only their own devices. A session's
 * proofs are stored in its record and end with it. Removal of a device or its approval is announced before it is
 * written, so that no informed process uses cached facts.
 */
import { GatewayError } from "../../shared/errors.ts";
import { hashSecret, randomSecret } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { deviceKey } from "../users/device-facts.ts";
import { createRecords, DEVICES_TAG, userTag, type DeviceProof, type DeviceRecord } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";
import { everyPage, pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import type { Credential } from "./webauthn.ts";
import type { UserId } from "../../shared/user-id.ts";

/** Per user. */
export const MAX_DEVICES = 20;
/** Per session. The oldest proof is dropped. */
const MAX_PROOFS = 8;
/** Devices are deleted after this time without use. */
const KEPT_SECONDS = 365 * 24 * 3600;
const MAX_CONFLICTS = 8;
const PREFIX = "device:";
const READ_AT_ONCE = 500;

export interface DeviceDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export interface DeviceEndDeps extends DeviceDeps {
  readonly revocations: Pick<Revocations, "revoke">;
}

/** A device with the key of its record. */
export interface ActiveDevice {
  readonly proof: DeviceProof;
  readonly device: DeviceRecord;
  /** Epoch seconds; extended by each use. */
  readonly expiresAt: number;
}

/** @param userId only this user's devices; absent: all users' @returns the oldest first */
export async function listDevices({ store }: Pick<DeviceDeps, "store">, userId?: string): Promise<ActiveDevice[]> {
  const records = await store.list<DeviceRecord>(userId === undefined ? DEVICES_TAG : userTag(userId));
  return records
    .filter(({ key }) => key.startsWith(PREFIX))
    .map(toDevice)
    .sort((a, b) => a.device.createdAt - b.device.createdAt);
}

/** @param userId only this user's devices; absent: all users' @returns devices in no particular order */
export function pageDevices(
  { store }: Pick<DeviceDeps, "store">,
  page: PageRequest,
  userId?: string,
): Promise<PageOf<ActiveDevice>> {
  return pageOf(store, { prefix: PREFIX, tag: userId === undefined ? DEVICES_TAG : userTag(userId) }, page, toDevice);
}

/**
 * Finds a device by id. The id is not the record's key, so pages are read until it is found. @param userId only this
 * user's devices; absent: all users'
 */
export async function findDevice(
  { store }: Pick<DeviceDeps, "store">,
  id: string,
  userId?: string,
): Promise<ActiveDevice | undefined> {
  const tag = userId === undefined ? DEVICES_TAG : userTag(userId);
  for await (const records of everyPage<DeviceRecord>(store, PREFIX, READ_AT_ONCE, tag)) {
    const found = records.find(({ value }) => value.id === id);
    if (found) return toDevice(found);
  }
  return undefined;
}

/** @returns "known" if any user has registered the credential; "full" if the user has too many devices */
export async function registerDevice(
  deps: DeviceDeps,
  of: { readonly userId: UserId; readonly name: string; readonly rpId: string; readonly credential: Credential },
): Promise<DeviceProof | "known" | "full"> {
  const { userId, name, rpId, credential } = of;
  const now = epochSeconds(deps.clock);
  const proof: DeviceProof = { key: hashSecret(credential.credentialId), id: `dev_${randomSecret(15)}` };
  const record: DeviceRecord = {
    id: proof.id,
    userId,
    name,
    rpId,
    ...credential,
    createdAt: now,
    usedAt: now,
    withdrawals: 0,
  };
  if ((await listDevices(deps, userId)).length >= MAX_DEVICES) return "full";
  return (await put(deps, proof.key, record, 0)) ? proof : "known";
}

/**
 * Records a use of a device.
 *
 * @returns false if the record has changed since it was read: check the response again with the new record
 */
export async function noteUse(deps: DeviceDeps, { proof, device }: ActiveDevice, counter: number): Promise<boolean> {
  const record = await createRecords(deps.store).devices.get(proof.key);
  if (!record || record.value.id !== proof.id || record.value.counter !== device.counter) return false;
  return put(deps, proof.key, { ...record.value, counter, usedAt: epochSeconds(deps.clock) }, record.version);
}

/** Adds a proven device to a session. @returns false if the session has ended */
export async function proveToSession(deps: DeviceDeps, sessionId: string, proof: DeviceProof): Promise<boolean> {
  const { sessions } = createRecords(deps.store);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const session = await sessions.get(sessionId);
    if (session?.expiresAt === undefined) return false;
    const { value, version, expiresAt, tags } = session;
    const others = (value.devices ?? []).filter(({ id }) => id !== proof.id);
    const devices = [...others, proof].slice(-MAX_PROOFS);
    const written = await sessions.put(sessionId, { ...value, devices }, { ifVersion: version, expiresAt, tags });
    if (written.ok) return true;
  }
  throw new GatewayError("device.conflict", "Cannot store a device verification: the session's record keeps changing");
}

/** @returns true for the first response to a challenge */
export async function takeChallenge(
  deps: DeviceDeps,
  { challenge, userId, expiresAt }: { readonly challenge: string; readonly userId: UserId; readonly expiresAt: number },
): Promise<boolean> {
  const { deviceAnswers } = createRecords(deps.store);
  // Longer than the challenge, since replicas' clocks differ.
  const until = expiresAt + 60;
  const tags = [userTag(userId)];
  return (await deviceAnswers.put(hashSecret(challenge), { userId }, { ifVersion: 0, expiresAt: until, tags })).ok;
}

/** Removes a device, immediately in all processes that follow the feed. @returns false if it does not exist */
export async function removeDevice(deps: DeviceEndDeps, { proof }: ActiveDevice): Promise<boolean> {
  const { devices } = createRecords(deps.store);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const record = await devices.get(proof.key);
    if (record?.value.id !== proof.id) return false;
    await deps.revocations.revoke(deviceKey(record.value));
    // Only this version: a concurrent approval creates another revocation key.
    if (await devices.delete(proof.key, { ifVersion: record.version })) return true;
  }
  throw new GatewayError("device.conflict", "Cannot remove a device: its record keeps changing");
}

/**
 * Adds or withdraws an administrator's approval.
 *
 * @returns false if the device does not exist or already has this state
 */
export async function setApproval(deps: DeviceEndDeps, { proof }: ActiveDevice, approved: boolean): Promise<boolean> {
  const { devices } = createRecords(deps.store);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const record = await devices.get(proof.key);
    if (!record || record.value.id !== proof.id || (record.value.approvedAt !== undefined) === approved) return false;
    const { approvedAt: _before, ...device } = record.value;
    if (!approved) await deps.revocations.revoke(deviceKey(device));
    const next: DeviceRecord = approved
      ? { ...device, approvedAt: epochSeconds(deps.clock) }
      : { ...device, withdrawals: device.withdrawals + 1 };
    if (await put(deps, proof.key, next, record.version, record.expiresAt)) return true;
  }
  throw new GatewayError("device.conflict", "Cannot change a device: its record keeps changing");
}

async function put(
  { store, clock }: DeviceDeps,
  key: string,
  device: DeviceRecord,
  ifVersion: number,
  expiresAt = epochSeconds(clock) + KEPT_SECONDS,
): Promise<boolean> {
  const tags = [DEVICES_TAG, userTag(device.userId)];
  return (await createRecords(store).devices.put(key, device, { ifVersion, expiresAt, tags })).ok;
}

function toDevice({ key, value, expiresAt }: StoredRecord<DeviceRecord>): ActiveDevice {
  return {
    proof: { key: key.slice(PREFIX.length), id: value.id },
    device: value,
    expiresAt: expiresAt ?? value.usedAt + KEPT_SECONDS,
  };
}
