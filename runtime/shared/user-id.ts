/**
 * User IDs: built and parsed only here.
 *
 * A user is identified by an issuer and a subject. For the first provider (`idp_provider_url`) the ID is the unchanged
 * subject, for every other issuer `issuer:<name>/<subject>`, for a service account `service-account:<name>`, for a
 * workload (a job, a pod: identified by a platform's issuer) `workload:<name of the issuer>/<subject>`. Policies,
 * records, revocations, logs and upstreams identify users by this ID only, byte for byte: no case folding, no Unicode
 * normalization.
 *
 * Untrusted input: the subject, which a provider may let its users choose. Promise: two users never share an ID, and no
 * workload has a person's. Subjects of the first provider must not start with a prefix. An issuer's name has no "/", so
 * that the first one ends it. Subjects that the store would write alike (lone surrogates, as U+FFFD) are rejected.
 */

declare const MADE: unique symbol;

/** Result of `providerUserId`, `serviceAccountUserId`, `workloadUserId` or `readUserId`. */
export type UserId = string & { readonly [MADE]: true };

/** The user that an ID represents. */
export type UserIdParts =
  | {
      readonly kind: "person";
      /** Absent: the first provider. */
      readonly issuer?: string;
      /** The issuer's `sub`. */
      readonly subject: string;
    }
  | { readonly kind: "service-account"; readonly name: string }
  | { readonly kind: "workload"; readonly issuer: string; readonly subject: string };

const ISSUER = "issuer:";
const SERVICE_ACCOUNT = "service-account:";
const WORKLOAD = "workload:";
const RESERVED = [ISSUER, SERVICE_ACCOUNT, WORKLOAD];
/** UTF-8. The store's names have 1024 bytes; the longest prefix of an ID, "refresh-identity:<id>", takes 17. */
export const MAX_USER_ID_BYTES = 1007;
/** A label of a host name, so that it can be part of addresses and a key of settings. */
const ISSUER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Name of the first provider in policies; no issuer has this name. */
export const FIRST_PROVIDER = "default";

/** Whether a name is valid for an issuer: 1 to 32 lower-case letters, digits and dashes, no dash first or last. */
export function isIssuerName(name: string): boolean {
  return name !== FIRST_PROVIDER && ISSUER_NAME.test(name);
}

export type UserIdResult =
  | { readonly ok: true; readonly id: UserId }
  /** `problem`: with the subject: "is empty". */
  | { readonly ok: false; readonly problem: string };

/** @param issuer name of the issuer; undefined: the first provider */
export function providerUserId(issuer: string | undefined, subject: string): UserIdResult {
  if (issuer !== undefined) return idBelow(ISSUER, issuer, subject);
  const reserved = RESERVED.find((prefix) => subject.startsWith(prefix));
  if (reserved !== undefined)
    return { ok: false, problem: `begins with "${reserved}", which is reserved for other users` };
  return checkedId(subject, subject);
}

/** @param issuer name of the platform's issuer */
export function workloadUserId(issuer: string, subject: string): UserIdResult {
  return idBelow(WORKLOAD, issuer, subject);
}

function idBelow(prefix: string, issuer: string, subject: string): UserIdResult {
  if (!isIssuerName(issuer)) throw new TypeError(`not the name of an issuer: ${JSON.stringify(issuer)}`);
  return checkedId(`${prefix}${issuer}/${subject}`, subject);
}

function checkedId(id: string, subject: string): UserIdResult {
  const problem = subject === "" ? "is empty" : problemOf(id);
  return problem === undefined ? { ok: true, id: id as UserId } : { ok: false, problem };
}

/** Characters that policies, logs and shells treat alike. */
const SERVICE_ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;

export function isServiceAccountName(name: string): boolean {
  return SERVICE_ACCOUNT_NAME.test(name);
}

/** The ID of a service account; its name is checked where the account is created. */
export function serviceAccountUserId(name: string): UserId {
  return (SERVICE_ACCOUNT + name) as UserId;
}

/** @returns undefined for a text that is not a user ID */
export function parseUserId(id: string): UserIdParts | undefined {
  if (problemOf(id) !== undefined) return undefined;
  if (id.startsWith(SERVICE_ACCOUNT)) {
    const name = id.slice(SERVICE_ACCOUNT.length);
    return name === "" ? undefined : { kind: "service-account", name };
  }
  const prefix = [ISSUER, WORKLOAD].find((each) => id.startsWith(each));
  if (prefix === undefined) return { kind: "person", subject: id };
  const [issuer = ""] = id.slice(prefix.length).split("/", 1);
  const subject = id.slice(prefix.length + issuer.length + 1);
  if (!isIssuerName(issuer) || subject === "") return undefined;
  return { kind: prefix === ISSUER ? "person" : "workload", issuer, subject };
}

/** The provider of a user, as named in policies; "" for service accounts. */
export function providerNameOf(id: string): string {
  const parts = parseUserId(id);
  return parts?.kind === "person" ? (parts.issuer ?? FIRST_PROVIDER) : "";
}

/**
 * A text that was an ID when it was sealed or stored, or that a caller names. @returns undefined unless it is a user ID
 */
export function readUserId(text: string): UserId | undefined {
  return parseUserId(text) === undefined ? undefined : (text as UserId);
}

/** Whether a name is an email address: IDs with one of the prefixes may also contain an "@". */
export function isNamedByEmail(name: string): boolean {
  return name.includes("@") && !RESERVED.some((prefix) => name.startsWith(prefix));
}

function problemOf(id: string): string | undefined {
  if (id === "") return "is empty";
  // Not allowed in keys and logs.
  if (/\p{Cc}/u.test(id)) return "has a control character";
  if (!id.isWellFormed()) return "is not valid Unicode text";
  return Buffer.byteLength(id) > MAX_USER_ID_BYTES ? "is too long" : undefined;
}
