/** `gateway devices approve` and `gateway devices revoke`. */
import { DEVICE } from "../../administration/kinds/device.ts";
import { withAdministration } from "./administration.ts";
import { endNamed, thingsOf, type ListOptions } from "./objects.ts";
import { forEachNamed, printError, printLine } from "./output.ts";

export interface DeviceApproveOptions {
  readonly config: string;
  readonly withdraw?: boolean;
}

/** Approves devices, or withdraws the approval. @returns exit code; 1 when one does not exist */
export function approveDevices(ids: readonly string[], options: DeviceApproveOptions): Promise<number> {
  const [path, done] =
    options.withdraw === true ? ["withdraw-approval", "no longer approved"] : ["approve", "approved"];
  const action = DEVICE.actions.find((each) => each.path === path);
  return withAdministration(options.config, async (administration) => {
    const request = { by: "", reason: "", record: administration.record };
    const found = await forEachNamed(ids, "device", async (id) => {
      const device = await DEVICE.find(administration, id);
      if (!device) return false;
      const changed = (await action?.run(administration, device, request)) !== undefined;
      printLine(`device ${id} ${changed ? done : `was ${done} already`}`);
      return true;
    });
    return found === ids.length ? 0 : 1;
  });
}

/**
 * Removes devices: on every process within 2 s. @returns exit code; 1 when one does not exist, 2 when none was given
 */
export function revokeDevices(ids: readonly string[], options: ListOptions): Promise<number> {
  const isByUser = options.user !== undefined;
  if (ids.length > 0 === isByUser) {
    printError("Cannot choose what to revoke: give IDs, or --user");
    return Promise.resolve(2);
  }
  return withAdministration(options.config, async (administration) => {
    const chosen = isByUser ? (await thingsOf(DEVICE, administration, options)).map(({ device }) => device.id) : ids;
    const count = await endNamed(DEVICE, administration, chosen, ({ device }) =>
      printLine(`device ${device.id} removed`),
    );
    if (chosen.length === 0) printError("This user has no device");
    return chosen.length > 0 && count === chosen.length ? 0 : 1;
  });
}
