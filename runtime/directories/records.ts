/**
 * What directories have told us, in the store: users, groups, memberships, and who has which unique name.
 *
 * A membership is a record of its own, found by its group (the key) and by its user (the tag): a request asks for the groups
 * of one user, and nobody reads a group's members for it.
 */
import { firstFormats } from "../store/formats.ts";
import { hashSecret } from "../shared/keys.ts";
import type { AttributeObject } from "./scim/attributes.ts";

export type ResourceKind = "user" | "group";

/** `directory-user:<directory>:<id>`, `directory-group:<directory>:<id>`. Never ends by itself. */
export interface ResourceRecord {
  readonly attributes: AttributeObject;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly changedAt: number;
}

/** `directory-member:<directory>:<group>:<user>`. One whose group or user is gone says nothing. */
export interface MemberRecord {
  readonly group: string;
}

/** `directory-name:<directory>:<hash>` of kind, attribute and text: whose it is. */
export interface NameRecord {
  readonly id: string;
  /** Epoch milliseconds; one without a resource is given to others a while after. */
  readonly at: number;
}

const KINDS = ["directory-user", "directory-group", "directory-member", "directory-name"] as const;

export const DIRECTORY_FORMATS = firstFormats(KINDS);

/** What the keys of a directory's records begin with. */
export function directoryPrefixes(directory: string): readonly string[] {
  return KINDS.map((kind) => `${kind}:${directory}:`);
}

export function resourcePrefix(kind: ResourceKind, directory: string): string {
  return `directory-${kind}:${directory}:`;
}

export function memberPrefix(directory: string, group: string): string {
  return `directory-member:${directory}:${group}:`;
}

/** Lists a user's memberships. */
export function membershipsTag(directory: string, user: string): string {
  return `directory-memberships:${directory}:${user}`;
}

/** Lists users by an address. */
export function addressTag(directory: string, address: string): string {
  return `directory-address:${hashSecret(JSON.stringify([directory, address.toLowerCase()]))}`;
}

export interface NameOf {
  readonly directory: string;
  readonly kind: ResourceKind;
  readonly attribute: string;
  /** As it is compared. */
  readonly text: string;
}

export function nameKey({ directory, kind, attribute, text }: NameOf): string {
  return `directory-name:${directory}:${hashSecret(JSON.stringify([kind, attribute, text]))}`;
}

/** How users are listed by their addresses. */
export function userTags(directory: string, { emails }: AttributeObject): readonly string[] {
  const addresses = Array.isArray(emails) ? (emails as readonly AttributeObject[]).map(({ value }) => value) : [];
  return [...new Set(addresses)].flatMap((each) => (typeof each === "string" ? [addressTag(directory, each)] : []));
}
