/**
 * Registered devices in the store: made, proven, approved and ended.
 *
 * Promises: a credential is registered once, for one user; each user sees and ends their own alone; what a session has
 * proven stands in the session's own record and ends with it. Removing a device, or taking an approval back, is announced
 * before it is written: no process that has learnt of it decides by what was known before.
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

/** Of one user. */
export const MAX_DEVICES = 20;
/** Of one session; the oldest proof gives way. */
const MAX_PROOFS = 8;
/** Unused for this long, a device is forgotten. */
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

/** A device with what its record is found by. */
export interface LivingDevice {
  readonly proof: DeviceProof;
  readonly device: DeviceRecord;
  /** Epoch seconds; put off with each use. */
  readonly expiresAt: number;
}

/** @param userId only this user's; everybody's when absent @returns the oldest first */
export async function listDevices({ store }: Pick<DeviceDeps, "store">, userId?: string): Promise<LivingDevice[]> {
  const records = await store.list<DeviceRecord>(userId === undefined ? DEVICES_TAG : userTag(userId));
  return records
    .filter(({ key }) => key.startsWith(PREFIX))
    .map(toLiving)
    .sort((a, b) => a.device.createdAt - b.device.createdAt);
}

/** @param userId only this user's; all users' when absent @returns them in no order that means anything */
export function pageDevices(
  { store }: Pick<DeviceDeps, "store">,
  page: PageRequest,
  userId?: string,
): Promise<PageOf<LivingDevice>> {
  return pageOf(store, { prefix: PREFIX, tag: userId === undefined ? DEVICES_TAG : userTag(userId) }, page, toLiving);
}

/** By its id, which is not its key: devices are read page by page until it is found. @param userId only this user's; all users' when absent */
export async function findDevice(
  { store }: Pick<DeviceDeps, "store">,
  id: string,
  userId?: string,
): Promise<LivingDevice | undefined> {
  const tag = userId === undefined ? DEVICES_TAG : userTag(userId);
  for await (const records of everyPage<DeviceRecord>(store, PREFIX, READ_AT_ONCE, tag)) {
    const found = records.find(({ value }) => value.id === id);
    if (found) return toLiving(found);
  }
  return undefined;
}

/** @returns "known" when the credential is registered already, whoever's it is; "full" when the user has too many */
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
 * Notes a use of a device.
 *
 * @returns false when the record has changed since it was read: the answer must be checked again by what it says now
 */
export async function noteUse(deps: DeviceDeps, { proof, device }: LivingDevice, counter: number): Promise<boolean> {
  const record = await createRecords(deps.store).devices.get(proof.key);
  if (!record || record.value.id !== proof.id || record.value.counter !== device.counter) return false;
  return put(deps, proof.key, { ...record.value, counter, usedAt: epochSeconds(deps.clock) }, record.version);
}

/** Writes into a session that it has proven a device. @returns false when the session has ended */
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
  throw new GatewayError("device.conflict", "Cannot store the proof of a device: the session's record keeps changing");
}

/** @returns true for the first answer to a challenge */
export async function takeChallenge(
  deps: DeviceDeps,
  { challenge, userId, expiresAt }: { readonly challenge: string; readonly userId: UserId; readonly expiresAt: number },
): Promise<boolean> {
  const { deviceAnswers } = createRecords(deps.store);
  // As long as the challenge, and a little more: clocks of replicas differ.
  const until = expiresAt + 60;
  const tags = [userTag(userId)];
  return (await deviceAnswers.put(hashSecret(challenge), { userId }, { ifVersion: 0, expiresAt: until, tags })).ok;
}

/** Ends a device: at once wherever the feed is heard. @returns false when it is gone already */
export async function removeDevice(deps: DeviceEndDeps, { proof }: LivingDevice): Promise<boolean> {
  const { devices } = createRecords(deps.store);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const record = await devices.get(proof.key);
    if (record?.value.id !== proof.id) return false;
    await deps.revocations.revoke(deviceKey(record.value));
    // Of this version: what an approval wrote meanwhile has another key.
    if (await devices.delete(proof.key, { ifVersion: record.version })) return true;
  }
  throw new GatewayError("device.conflict", "Cannot remove a device: its record keeps changing");
}

/**
 * An administrator's word about a device, or its end.
 *
 * @returns false when the device is gone, or stands so already
 */
export async function setApproval(deps: DeviceEndDeps, { proof }: LivingDevice, approved: boolean): Promise<boolean> {
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

function toLiving({ key, value, expiresAt }: StoredRecord<DeviceRecord>): LivingDevice {
  return {
    proof: { key: key.slice(PREFIX.length), id: value.id },
    device: value,
    expiresAt: expiresAt ?? value.usedAt + KEPT_SECONDS,
  };
}
