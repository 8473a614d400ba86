/**
 * Records of directories: users, groups, memberships and unique names.
 *
 * A membership is a record of its own, found by its group (the key) or its user (the tag). Requests look up the groups
 * of one user and never read a group's members.
 */
import { firstFormats } from "../store/formats.ts";
import { hashSecret } from "../shared/keys.ts";
import type { AttributeObject } from "./scim/attributes.ts";

export type ResourceKind = "user" | "group";

/** `directory-user:<directory>:<id>`, `directory-group:<directory>:<id>`. Never expires. */
export interface ResourceRecord {
  readonly attributes: AttributeObject;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly changedAt: number;
}

/** `directory-member:<directory>:<group>:<user>`. Has no meaning once its group or user is deleted. */
export interface MemberRecord {
  readonly group: string;
}

/** `directory-name:<directory>:<hash>` with the hash of kind, attribute and text. Names the owning resource. */
export interface NameRecord {
  readonly id: string;
  /** Epoch milliseconds. A reservation without a resource is reassigned some time after this. */
  readonly at: number;
}

const KINDS = ["directory-user", "directory-group", "directory-member", "directory-name"] as const;

export const DIRECTORY_FORMATS = firstFormats(KINDS);

/** Key prefixes of a directory's records. */
export function directoryPrefixes(directory: string): readonly string[] {
  return KINDS.map((kind) => `${kind}:${directory}:`);
}

export function resourcePrefix(kind: ResourceKind, directory: string): string {
  return `directory-${kind}:${directory}:`;
}

export function memberPrefix(directory: string, group: string): string {
  return `directory-member:${directory}:${group}:`;
}

/** Tag of a user's memberships. */
export function membershipsTag(directory: string, user: string): string {
  return `directory-memberships:${directory}:${user}`;
}

/** Tag of users with an email address. */
export function addressTag(directory: string, address: string): string {
  return `directory-address:${hashSecret(JSON.stringify([directory, address.toLowerCase()]))}`;
}

export interface NameOf {
  readonly directory: string;
  readonly kind: ResourceKind;
  readonly attribute: string;
  /** Normalized for comparison. */
  readonly text: string;
}

export function nameKey({ directory, kind, attribute, text }: NameOf): string {
  return `directory-name:${directory}:${hashSecret(JSON.stringify([kind, attribute, text]))}`;
}

/** Tags of a user, one for each address. */
export function userTags(directory: string, { emails }: AttributeObject): readonly string[] {
  const addresses = Array.isArray(emails) ? (emails as readonly AttributeObject[]).map(({ value }) => value) : [];
  return [...new Set(addresses)].flatMap((each) => (typeof each === "string" ? [addressTag(directory, each)] : []));
}
