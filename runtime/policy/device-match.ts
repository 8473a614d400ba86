/** Data of `device`: which of a browser session's verified devices match. */
import type { DeviceFacts } from "./facts.ts";
import { type PolicySchema, type ReportAt, describe, isRecordOf } from "./match.ts";

/** Canonical, in this order. One device must match all members. */
export interface DeviceMatch {
  is?: string;
  approved?: boolean;
  /** `any` matches every type. */
  type?: DeviceFacts["type"];
}

/** Types with which devices are registered. */
export const DEVICE_TYPES = ["any", "enclave_only"] as const satisfies readonly DeviceFacts["type"][];

const MEMBERS = ["is", "approved", "type"] as const;

export const DEVICE_MATCH_SCHEMA: PolicySchema = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    is: { type: "string", minLength: 1, description: "ID of the device." },
    approved: { type: "boolean", description: "Whether an administrator has approved the device." },
    type: { enum: DEVICE_TYPES, description: "Type under which the device was registered; `any` matches all." },
  },
};

/** @returns undefined after every problem of the data was reported */
export function readDeviceMatch(
  data: unknown,
  path: string,
  report: ReportAt,
): { readonly match: DeviceMatch; readonly matches: (device: DeviceFacts) => boolean } | undefined {
  let valid = true;
  const fail = (at: string, message: string): void => {
    valid = false;
    report(at, message);
  };
  if (!isRecordOf(data, MEMBERS, path, fail)) return undefined;
  const match: DeviceMatch = {};
  const { is, approved, type } = data;
  if (Object.hasOwn(data, "is")) {
    if (typeof is === "string" && is !== "") match.is = is;
    else fail(`${path}.is`, `is ${describe(is)}, must be the id of a device`);
  }
  if (Object.hasOwn(data, "approved")) {
    if (typeof approved === "boolean") match.approved = approved;
    else fail(`${path}.approved`, `is ${describe(approved)}, must be true or false`);
  }
  if (Object.hasOwn(data, "type")) {
    const known = DEVICE_TYPES.find((each) => each === type);
    if (known !== undefined) match.type = known;
    else fail(`${path}.type`, `is ${describe(type)}, must be one of ${DEVICE_TYPES.join(", ")}`);
  }
  return valid ? { match, matches: (device) => matchesDevice(match, device) } : undefined;
}

function matchesDevice({ is, approved, type }: DeviceMatch, device: DeviceFacts): boolean {
  if (is !== undefined && device.id !== is) return false;
  if (approved !== undefined && device.isApproved !== approved) return false;
  return type === undefined || type === "any" || device.type === type;
}
