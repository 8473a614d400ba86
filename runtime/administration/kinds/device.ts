/** Devices that users have registered, for policies that require one. */
import {
  findDevice,
  pageDevices,
  removeDevice,
  setApproval,
  type ActiveDevice,
} from "../../identity/devices/devices.ts";
import { DEVICE_PATH } from "../../identity/devices/forms.ts";
import { badge, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { day } from "../../pages/time.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import {
  textField,
  timeField,
  LAST_COLUMN,
  type Action,
  type KindDeps,
  type ShownKind,
  timeColumn,
  emailField,
} from "../kind.ts";
import { ending } from "../ending.ts";

type Deps = Pick<KindDeps, "store" | "clock" | "revocations">;

const targetOf = ({ device }: ActiveDevice): string => `device ${device.id} of ${device.userId}`;

export const DEVICE: ShownKind<ActiveDevice, Deps> = {
  name: "device",
  plural: "devices",
  command: "devices list",
  doc: "Devices that users have registered",
  none: "no device is registered",
  fields: [
    textField("id", "ID of the device, for policies", ({ device }) => device.id),
    textField("user", "User ID", ({ device }) => device.userId),
    emailField(({ device }) => device.userId),
    textField("name", "Name, as the user calls it", ({ device }) => device.name),
    textField("type", "Whether its key is in the device itself", ({ device }) => device.type, ["any", "enclave_only"]),
    textField(
      "synced",
      "Whether its key may be on other devices of the same account",
      ({ device }) => (device.isSynced ? "yes" : "no"),
      ["yes", "no"],
    ),
    textField("approved", "Time of an administrator's approval, or `no`", ({ device }) => device.approvedAt ?? "no"),
    textField("host", "Host name that its key is bound to", ({ device }) => device.rpId),
    timeField("registered", "Time of the registration", ({ device }) => device.createdAt),
    timeField("used", "Time of the last use", ({ device }) => device.usedAt),
    timeField("ends", "End unless the user uses it", ({ expiresAt }) => expiresAt),
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
      timeColumn("Last used", ({ device }) => device.usedAt),
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
    empty: emptyState("No registered devices", "Devices appear here once the user registers them."),
  },
  ofUser: { heading: "Devices", order: 5 },
  own: {
    heading: "Registered devices",
    icon: "key",
    order: 4,
    isShownEmpty: ({ needsDevices }) => needsDevices,
    empty: html`You have registered no device. Some pages open only with a registered device.
      <a href="${DEVICE_PATH}">Register a device</a>`,
    foot: html`<a href="${DEVICE_PATH}">Register a device</a>`,
    row({ device }, { deviceIds }) {
      const { id, type, isSynced, approvedAt, createdAt, usedAt } = device;
      const name = visibleText(device.name);
      const where = type === "enclave_only" ? "built in" : isSynced ? "passkey of an account" : "security key or phone";
      const facts = [where, approvedAt === undefined ? "not approved" : "approved"];
      if (deviceIds.includes(id)) facts.push("verified in this session");
      return {
        name,
        text: html`<code>${id}</code>, ${facts.join(", ")}. Registered ${day(new Date(createdAt * 1000))}, used
          ${day(new Date(usedAt * 1000))}.`,
        end: { button: "Remove", of: name },
      };
    },
  },
  idOf: ({ device }) => device.id,
  userOf: ({ device }) => device.userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("device:"),
  page: (deps, { filters, ...page }) => pageDevices(deps, page, filters.get("user")),
  find: findDevice,
  actions: [
    ending("end-device", {
      title: "Remove device",
      effect: "Invalidates its verification within 2 seconds. The user can register it again, unapproved.",
      target: targetOf,
      before: (_, { device }) => digestOf(device),
      end: removeDevice,
    }),
    approval(true, {
      name: "approve-device",
      path: "approve",
      title: "Approve device",
      effect: "Rules that require an approved device match it.",
    }),
    approval(false, {
      name: "withdraw-device",
      path: "withdraw-approval",
      title: "Withdraw device approval",
      effect: "Rules that require an approved device no longer match it, within 2 seconds.",
    }),
  ],
};

function approval(
  isApproved: boolean,
  of: Pick<Action<ActiveDevice, Deps>, "name" | "path" | "title" | "effect">,
): Action<ActiveDevice, Deps> {
  return {
    ...of,
    role: "operator",
    isSensitive: true,
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
