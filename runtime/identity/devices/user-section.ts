/** Devices on the account page, and the form that removes one. */
import type { Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { redirect } from "../../http/respond.ts";
import type { Log } from "../../shared/log.ts";
import { devicesSection } from "../../pages/device.ts";
import type { Clock } from "../../shared/clock.ts";
import { refuseForm } from "../csrf.ts";
import { createRecords } from "../identity-records.ts";
import { readUserForm } from "../users/user-form.ts";
import type { UserSection } from "../users/user-endpoints.ts";
import type { Store } from "../../store/store.ts";
import { listDevices, removeDevice } from "./devices.ts";
import { REMOVE_FORM } from "./forms.ts";
import type { DeviceSession } from "./deps.ts";

export const REMOVE_PATH = "/.gateway/devices";
const MAX_FORM_BYTES = 4096;

export interface DeviceSectionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly session: DeviceSession;
  readonly registerPath: string;
}

export interface DeviceSection {
  readonly render: UserSection;
  /** `POST /.gateway/devices` */
  readonly handleRemove: (exchange: Exchange, snapshot: Snapshot) => Promise<void>;
}

export function createDeviceSection(deps: DeviceSectionDeps): DeviceSection {
  const { session } = deps;
  return {
    async render(principal, snapshot) {
      const own = await listDevices(deps, principal.user.id);
      if (own.length === 0 && !asksForDevices(snapshot)) return undefined;
      // From the record: cached facts about this browser may be older than the proof.
      const record = await createRecords(deps.store).sessions.get(principal.sid);
      const proven = new Set(record?.value.devices?.map(({ id }) => id));
      return devicesSection(
        own.map(({ device }) => ({
          id: device.id,
          name: device.name,
          isBuiltIn: device.type === "enclave_only",
          isSynced: device.isSynced,
          isApproved: device.approvedAt !== undefined,
          isProven: proven.has(device.id),
          registered: new Date(device.createdAt * 1000),
          used: new Date(device.usedAt * 1000),
        })),
        { action: REMOVE_PATH, csrfToken: session.csrf.token(principal, REMOVE_FORM) },
        deps.registerPath,
      );
    },

    async handleRemove(exchange, snapshot) {
      const sent = await readUserForm(exchange, snapshot, {
        name: REMOVE_FORM,
        maxBytes: MAX_FORM_BYTES,
        csrf: session.csrf,
        principal: () => session.browser.principal(exchange, snapshot),
      });
      if (!sent.ok) return refuseForm(exchange);
      const { principal } = sent;
      // Search only this user's devices: a user cannot remove another user's device.
      const own = await listDevices(deps, principal.user.id);
      const chosen = own.find(({ device }) => device.id === sent.values.get("device"));
      if (chosen && (await removeDevice({ ...deps, revocations: session.revocations }, chosen))) {
        const fields = { user: principal.user.id, device: chosen.proof.id, request: exchange.id };
        deps.log.info(fields, "device removed by its user");
      }
      redirect(exchange, 303, `${sent.site.origin}/.gateway/`);
    },
  };
}

function asksForDevices({ routes }: Snapshot): boolean {
  return routes.some(({ policy }) => policy.needsDevice);
}
