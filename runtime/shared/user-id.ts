/**
 * User ids: made here and taken apart here, and nowhere else.
 *
 * A user is what an issuer calls by a subject. Of the first provider (`idp_provider_url`) the id is the subject as it is, of
 * every other issuer `issuer:<name>/<subject>`, of a machine `service-account:<name>`, of a workload (a job, a pod: a machine
 * that a platform's issuer vouches for) `workload:<name of the issuer>/<subject>`. Policies, records, revocations, logs and
 * upstreams know users by their id alone, byte for byte: no case is folded and no Unicode form is changed.
 *
 * Untrusted input: the subject, which a provider may let its users choose. Promise: two users never have one id, and no
 * workload has a person's. The prefixes are kept from the first provider's subjects, an issuer's name has no "/" so that the
 * first one ends it, and what the store would write alike (lone surrogates, as U+FFFD) is nobody's subject.
 */

declare const MADE: unique symbol;

/** A text that `providerUserId`, `serviceAccountUserId`, `workloadUserId` or `readUserId` gave. */
export type UserId = string & { readonly [MADE]: true };

/** Who an id stands for. */
export type UserIdParts =
  | {
      readonly kind: "person";
      /** Absent: the first provider. */
      readonly issuer?: string;
      /** `sub`, as the issuer has it. */
      readonly subject: string;
    }
  | { readonly kind: "service-account"; readonly name: string }
  | { readonly kind: "workload"; readonly issuer: string; readonly subject: string };

const ISSUER = "issuer:";
const SERVICE_ACCOUNT = "service-account:";
const WORKLOAD = "workload:";
const RESERVED = [ISSUER, SERVICE_ACCOUNT, WORKLOAD];
/** UTF-8. The store's names have 1024 bytes, of which the longest that is made of an id, "refresh-identity:<id>", takes 17. */
export const MAX_USER_ID_BYTES = 1007;
/** A label of a host name, so that it can stand in addresses and as a key of settings. */
const ISSUER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** What policies call the first provider; no issuer is called so. */
export const FIRST_PROVIDER = "default";

/** Whether an issuer may be called so: 1 to 32 lower-case letters, digits and dashes, no dash first or last. */
export function isIssuerName(name: string): boolean {
  return name !== FIRST_PROVIDER && ISSUER_NAME.test(name);
}

export type UserIdResult =
  | { readonly ok: true; readonly id: UserId }
  /** `problem`: what is wrong with the subject: "is empty". */
  | { readonly ok: false; readonly problem: string };

/** @param issuer name of the issuer; undefined: the first provider */
export function providerUserId(issuer: string | undefined, subject: string): UserIdResult {
  if (issuer !== undefined) return idBelow(ISSUER, issuer, subject);
  const reserved = RESERVED.find((prefix) => subject.startsWith(prefix));
  if (reserved !== undefined) return { ok: false, problem: `begins with "${reserved}", which stands for other users` };
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

/** What policies, logs and shells take alike. */
const SERVICE_ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;

export function isServiceAccountName(name: string): boolean {
  return SERVICE_ACCOUNT_NAME.test(name);
}

/** The id of a service account; its name is checked where the account is made. */
export function serviceAccountUserId(name: string): UserId {
  return (SERVICE_ACCOUNT + name) as UserId;
}

/** @returns undefined for a text that is no user's id */
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

/** The provider that a user comes from, as policies name it; "" for machines. */
export function providerNameOf(id: string): string {
  const parts = parseUserId(id);
  return parts?.kind === "person" ? (parts.issuer ?? FIRST_PROVIDER) : "";
}

/** A text that was an id when we sealed or stored it, or that somebody names. @returns undefined when it is nobody's */
export function readUserId(text: string): UserId | undefined {
  return parseUserId(text) === undefined ? undefined : (text as UserId);
}

/** Whether who is named so is named by e-mail address: an id of the prefixes may have an "@", too. */
export function isNamedByEmail(name: string): boolean {
  return name.includes("@") && !RESERVED.some((prefix) => name.startsWith(prefix));
}

function problemOf(id: string): string | undefined {
  if (id === "") return "is empty";
  // It has no place in keys and logs.
  if (/\p{Cc}/u.test(id)) return "has a control character";
  if (!id.isWellFormed()) return "is no Unicode text";
  return Buffer.byteLength(id) > MAX_USER_ID_BYTES ? "is too long" : undefined;
}
