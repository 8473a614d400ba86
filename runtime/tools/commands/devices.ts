/** `gateway devices …`: which devices people have registered, whether an administrator vouches for them, and ending them. */
import { digestOf } from "../../shared/canonical-json.ts";
import { listDevices, removeDevice, setApproval, type LivingDevice } from "../../identity/devices/devices.ts";
import { emailsOf } from "../../identity/users/emails-of.ts";
import { onlyOf, withAdministration, type Administration } from "./administration.ts";
import { forEachNamed, printError, printLine, printRows, timeText } from "./output.ts";

export interface DeviceListOptions {
  readonly config: string;
  /** Id or email. */
  readonly user?: string;
  readonly json?: boolean;
}

export interface DeviceApproveOptions {
  readonly config: string;
  readonly withdraw?: boolean;
}

/** @returns exit code */
export function printDevices(options: DeviceListOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const devices = await devicesOf(administration, options.user);
    const emails = await emailsOf(
      administration.store,
      devices.map(({ device }) => device.userId),
    );
    const rows = devices.map(({ device, expiresAt }) => ({
      id: device.id,
      user: device.userId,
      email: emails.get(device.userId),
      name: device.name,
      type: device.type,
      synced: device.isSynced ? "yes" : "no",
      approved: device.approvedAt === undefined ? "no" : timeText(device.approvedAt),
      host: device.rpId,
      registered: timeText(device.createdAt),
      used: timeText(device.usedAt),
      ends: timeText(expiresAt),
    }));
    printRows(rows, options.json === true, "no device is registered");
    return 0;
  });
}

/** Vouches for devices, or no longer. @returns exit code; 1 when one is not there */
export function approveDevices(ids: readonly string[], options: DeviceApproveOptions): Promise<number> {
  const isApproved = options.withdraw !== true;
  const done = isApproved ? "approved" : "no longer approved";
  return withAdministration(options.config, (administration) =>
    each(administration, ids, async (device) => {
      const changed = await setApproval(administration, device, isApproved);
      if (changed) {
        await administration.record({
          action: isApproved ? "approve-device" : "withdraw-device-approval",
          target: `device ${device.proof.id} of ${device.device.userId}`,
          before: isApproved ? "not approved" : "approved",
          after: isApproved ? "approved" : "not approved",
        });
      }
      printLine(`device ${device.proof.id} ${changed ? done : `was ${done} already`}`);
    }),
  );
}

/** Ends devices: on every process within 2 s. @returns exit code; 1 when one is not there, 2 when none was chosen */
export function revokeDevices(ids: readonly string[], options: DeviceListOptions): Promise<number> {
  const isByUser = options.user !== undefined;
  if (ids.length > 0 === isByUser) {
    printError("Cannot choose what to end: name ids, or say --user");
    return Promise.resolve(2);
  }
  return withAdministration(options.config, async (administration) => {
    const chosen = isByUser ? (await devicesOf(administration, options.user)).map(({ proof }) => proof.id) : ids;
    const code = await each(administration, chosen, async (device) => {
      await removeDevice(administration, device);
      const target = `device ${device.proof.id} of ${device.device.userId}`;
      await administration.record({ action: "revoke", target, before: digestOf(device.device), after: null });
      printLine(`device ${device.proof.id} ended`);
    });
    if (chosen.length === 0) printError("There is no device of this user");
    return chosen.length === 0 ? 1 : code;
  });
}

async function each(
  administration: Administration,
  ids: readonly string[],
  act: (device: LivingDevice) => Promise<void>,
): Promise<number> {
  const living = await listDevices(administration);
  const found = await forEachNamed(ids, "device", async (id) => {
    const device = living.find(({ proof }) => proof.id === id);
    if (device) await act(device);
    return device !== undefined;
  });
  return found === ids.length ? 0 : 1;
}

async function devicesOf({ store }: Administration, user: string | undefined): Promise<readonly LivingDevice[]> {
  return onlyOf(store, user, await listDevices({ store }), ({ device }) => device.userId);
}
