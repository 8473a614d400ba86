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
