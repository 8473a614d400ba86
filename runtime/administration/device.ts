/** Devices that users have registered, for policies that require one. */
import { findDevice, pageDevices, removeDevice, setApproval, type LivingDevice } from "../identity/devices/devices.ts";
import { badge, consoleTime, emptyState } from "../pages/console/pieces.ts";
import { html } from "../pages/html.ts";
import { digestOf } from "../shared/canonical-json.ts";
import { foreignText } from "../shared/json/foreign-text.ts";
import { ending, LAST_COLUMN, type Action, type KindDeps, type ShownKind } from "./kind.ts";

type Deps = Pick<KindDeps, "store" | "clock" | "revocations">;

const targetOf = ({ device }: LivingDevice): string => `device ${device.id} of ${device.userId}`;

export const DEVICE: ShownKind<LivingDevice, Deps> = {
  name: "device",
  plural: "devices",
  command: "devices list",
  doc: "Devices that users have registered",
  none: "no device is registered",
  fields: [
    { name: "id", type: "text", doc: "ID of the device, for policies", value: ({ device }) => device.id },
    { name: "user", type: "text", doc: "User ID", value: ({ device }) => device.userId },
    {
      name: "email",
      type: "text",
      doc: "Email address of the user",
      value: ({ device }, emails) => emails.get(device.userId),
    },
    { name: "name", type: "text", doc: "Name, as the user calls it", value: ({ device }) => device.name },
    {
      name: "type",
      type: "text",
      values: ["any", "enclave_only"],
      doc: "Whether its key is in the device itself",
      value: ({ device }) => device.type,
    },
    {
      name: "synced",
      type: "text",
      values: ["yes", "no"],
      doc: "Whether its key may be on other devices of the same account",
      value: ({ device }) => (device.isSynced ? "yes" : "no"),
    },
    {
      name: "approved",
      type: "text",
      doc: "Time of an administrator's approval, or `no`",
      value: ({ device }) => device.approvedAt ?? "no",
    },
    { name: "host", type: "text", doc: "Host name that its key is bound to", value: ({ device }) => device.rpId },
    { name: "registered", type: "time", doc: "Time of the registration", value: ({ device }) => device.createdAt },
    { name: "used", type: "time", doc: "Time of the last use", value: ({ device }) => device.usedAt },
    { name: "ends", type: "time", doc: "End unless the user uses it", value: ({ expiresAt }) => expiresAt },
  ],
  filters: ["user"],
  inTable: (a, b) => a.device.createdAt - b.device.createdAt,
  table: {
    id: "devices",
    caption: () => "Registered devices",
    columns: [
      {
        name: "Device",
        isHead: true,
        cell: ({ device }) => html`${foreignText(device.name)}<br /><code>${device.id}</code>`,
      },
      {
        name: "Type",
        kind: "short",
        cell: ({ device: { type, isSynced } }) =>
          type === "enclave_only" ? (isSynced ? "built in, synced" : "built in") : "security key or other",
      },
      {
        name: "Approved",
        kind: "short",
        cell: ({ device }) =>
          device.approvedAt === undefined ? badge("quiet", "no") : badge("good", "by an administrator"),
      },
      { name: "Last used", kind: "short", cell: ({ device }) => consoleTime(device.usedAt * 1000, "minute") },
      {
        ...LAST_COLUMN,
        cell(living, { link }) {
          const { name, approvedAt } = living.device;
          const of = `device ${foreignText(name)}`;
          const [action, text] =
            approvedAt === undefined ? ["approve-device", "Approve"] : ["withdraw-device", "Withdraw approval"];
          const approval = link(action, living, text, of);
          return approval && html`${approval} ${link("end-device", living, "End", of)}`;
        },
      },
    ],
    empty: emptyState("No device is registered", "Devices appear here once this person has registered them."),
  },
  idOf: ({ device }) => device.id,
  userOf: ({ device }) => device.userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("device:"),
  page: (deps, { filters, ...page }) => pageDevices(deps, page, filters.get("user")),
  find: findDevice,
  actions: [
    ending("end-device", {
      title: "End the device",
      effect:
        "What it has proven counts no more, in every process within 2 seconds. The person may register it again, without an administrator's approval.",
      target: targetOf,
      before: (_, { device }) => digestOf(device),
      end: removeDevice,
    }),
    approval(true, {
      name: "approve-device",
      path: "approve",
      title: "Approve the device",
      effect: "Rules that ask for an approved device hold of it.",
    }),
    approval(false, {
      name: "withdraw-device",
      path: "withdraw-approval",
      title: "Withdraw the device's approval",
      effect: "Rules that ask for an approved device no longer hold of it, in every process within 2 seconds.",
    }),
  ],
};

function approval(
  isApproved: boolean,
  of: Pick<Action<LivingDevice, Deps>, "name" | "path" | "title" | "effect">,
): Action<LivingDevice, Deps> {
  return {
    ...of,
    role: "operator",
    isGrave: true,
    target: targetOf,
    async run(deps, living, { record }) {
      if (!(await setApproval(deps, living, isApproved))) return undefined;
      await record({
        action: isApproved ? "approve-device" : "withdraw-device-approval",
        target: targetOf(living),
        before: isApproved ? "not approved" : "approved",
        after: isApproved ? "approved" : "not approved",
      });
      return `Device ${foreignText(living.device.name)} is ${isApproved ? "approved" : "no longer approved"}.`;
    },
  };
}
