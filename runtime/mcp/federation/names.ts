/** Names of a federated endpoint: a pure function of the configuration and of the members' own names. */

/** Model APIs accept 64 characters. Longer names are dropped, never shortened: a rule about a name must keep its meaning. */
export const MAX_ADVERTISED_NAME = 64;

const SEPARATOR = "__";

/** @returns undefined if the name would be too long */
export function advertise(prefix: string, name: string): string | undefined {
  const advertised = prefix + SEPARATOR + name;
  return advertised.length > MAX_ADVERTISED_NAME ? undefined : advertised;
}

export interface MemberName {
  readonly prefix: string;
  /** As the member calls it. */
  readonly name: string;
}

/** The inverse of `advertise`: prefixes have no "_", so the first separator ends the prefix. */
export function readAdvertised(advertised: string): MemberName | undefined {
  const at = advertised.indexOf(SEPARATOR);
  if (at <= 0 || advertised.length > MAX_ADVERTISED_NAME) return undefined;
  const name = advertised.slice(at + SEPARATOR.length);
  return name === "" ? undefined : { prefix: advertised.slice(0, at), name };
}

const APP = "ui://";

/** Hosts show an app by its URI alone, so members' apps must differ. Other URIs are those of the members. */
export function advertiseUri(prefix: string, uri: string): string {
  return uri.startsWith(APP) ? `${APP}${prefix}/${uri.slice(APP.length)}` : uri;
}

/** The inverse of `advertiseUri` for addresses of apps. @returns undefined for other URIs, which do not name their member */
export function readAppUri(uri: string): MemberName | undefined {
  if (!uri.startsWith(APP)) return undefined;
  const at = uri.indexOf("/", APP.length);
  return at === -1 ? undefined : { prefix: uri.slice(APP.length, at), name: APP + uri.slice(at + 1) };
}

/** Prefixes have no ".". The rest is the ID that the member's route sealed for the caller. */
const TASK_SEPARATOR = ".";

export function advertiseTask(prefix: string, id: string): string {
  return prefix + TASK_SEPARATOR + id;
}

export function readTask(advertised: unknown): MemberName | undefined {
  if (typeof advertised !== "string") return undefined;
  const at = advertised.indexOf(TASK_SEPARATOR);
  return at <= 0 ? undefined : { prefix: advertised.slice(0, at), name: advertised.slice(at + 1) };
}
