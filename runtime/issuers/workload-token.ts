/**
 * Tokens of platforms about their jobs, pods and machines: whether one is good here, whose it is, and which rules it fits.
 *
 * Untrusted input: the token, until its issuer's signature is checked; after that its issuer is trusted with what it says of
 * its workloads, and with nothing about people. Promises: a user id made of it is no person's; a token that is meant for
 * others, or that was made for an application to know its user by, opens nothing; nothing of it is kept but its subject.
 *
 * @see draft MCP workload identity federation, RFC 7523 §3
 */
import type { TrustedIssuer } from "../features/sign-in/trusted-issuers.ts";
import { matchesClaims } from "../features/sign-in/claim-rules.ts";
import type { WorkloadRule } from "../features/sign-in/workload-rules.ts";
import { hashSecret } from "../shared/keys.ts";
import { workloadUserId, type UserId } from "../shared/user-id.ts";
import { readTimes } from "./assertion-times.ts";
import type { IssuerKeys, KeyOwner } from "./issuer-keys.ts";
import { isMeantAlone, isUsableId, MAX_ASSERTION_CHARACTERS, readUnverified } from "./read-unverified.ts";

export interface Workload {
  readonly entry: TrustedIssuer;
  readonly userId: UserId;
  /** Those that it fits, at least one; what they open is asked by whoever knows what is asked for. */
  readonly rules: readonly WorkloadRule[];
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** Of issuer and token: the same whenever the token is presented. */
  readonly hash: string;
}

export type WorkloadResult =
  | { readonly ok: true; readonly workload: Workload }
  /** bad: it says nothing here. unavailable: without the keys nobody can tell. `detail` is for the log. */
  | { readonly ok: false; readonly reason: "bad" | "unavailable"; readonly detail: string };

export interface WorkloadTokenPlace {
  /** With the use, where the token is presented. */
  readonly entries: readonly TrustedIssuer[];
  /** What it may be meant for, where the entry names nothing. */
  readonly audiences: readonly string[];
  /** Epoch seconds. */
  readonly now: number;
}

type Claims = Readonly<Record<string, unknown>>;

export async function verifyWorkload(
  keys: IssuerKeys,
  { entries, audiences, now }: WorkloadTokenPlace,
  token: string,
): Promise<WorkloadResult> {
  const verified = await verifyPlatformToken(keys, entries, token, (entry) => ({
    audiences: entry.audiences ?? audiences,
    maxAgeSeconds: entry.maxAssertionAgeSeconds.workload,
    now,
  }));
  if (!verified.ok) return verified;
  const { entry, claims, subject, expiresAt, hash } = verified;
  const made = workloadUserId(entry.name, subject);
  if (!made.ok) return bad(`sub ${made.problem}`);
  const rules = entry.workloadRules.filter((rule) => matchesClaims(rule.claims, claims));
  if (rules.length === 0) return bad(`fits no rule of ${entry.name}`);
  return { ok: true, workload: { entry, userId: made.id, rules, expiresAt, hash } };
}

export interface PlatformTokenTerms {
  readonly audiences: readonly string[];
  /** Longest time between issue and end. */
  readonly maxAgeSeconds: number;
  /** Epoch seconds. */
  readonly now: number;
}

export type PlatformTokenResult<Entry> =
  | {
      readonly ok: true;
      readonly entry: Entry;
      readonly claims: Claims;
      readonly subject: string;
      readonly expiresAt: number;
      readonly hash: string;
    }
  | Extract<WorkloadResult, { ok: false }>;

/** What a platform says of a workload, for whatever it is presented. @param termsOf what its issuer's entry asks of it */
export async function verifyPlatformToken<Entry extends KeyOwner>(
  keys: IssuerKeys,
  entries: readonly Entry[],
  token: string,
  termsOf: (entry: Entry) => PlatformTokenTerms,
): Promise<PlatformTokenResult<Entry>> {
  // Its kind, before anything of it is believed.
  if (token.length > MAX_ASSERTION_CHARACTERS) return bad("too long");
  const claimed = readUnverified(token);
  if (claimed === undefined) return bad("not a compact JWS");
  if (claimed.type !== undefined && claimed.type !== "JWT") return bad("typ is not that of a platform's token");

  // Whose it says it is: a look-up, no more.
  const entry = await findEntry(keys, entries, claimed.issuer);
  if (!entry) return bad("iss is no issuer with the use workload here");

  // A key of that issuer must have signed it.
  const signed = await keys.verify(entry, token);
  if (!signed.ok) return signed;
  const { claims } = signed;
  const { audiences, maxAgeSeconds, now } = termsOf(entry);
  const problem = kindProblem(claims) ?? audienceProblem(claims, audiences);
  if (problem !== undefined) return bad(problem);
  // Without tolerance at its end: what is given for it ends with it.
  const times = readTimes(claims, now, maxAgeSeconds, 0);
  if (!times.ok) return bad(times.problem);

  const { sub, jti } = claims;
  if (typeof sub !== "string") return bad("sub is missing");
  if (jti !== undefined && !isUsableId(jti)) return bad("no usable jti");
  return {
    ok: true,
    entry,
    claims,
    subject: sub,
    expiresAt: Math.ceil(times.exp),
    // Without the signature, which a holder of the token could write in another way.
    hash: hashSecret(JSON.stringify([entry.issuer, jti ?? token.slice(0, token.lastIndexOf("."))])),
  };
}

async function findEntry<Entry extends KeyOwner>(
  keys: IssuerKeys,
  entries: readonly Entry[],
  issuer: unknown,
): Promise<Entry | undefined> {
  for (const entry of entries) if ((await keys.issuerOf(entry)) === issuer && issuer !== undefined) return entry;
  return undefined;
}

/**
 * Said of a user to an application (OpenID Connect Core §2, §3.1.3.6), of what happened (a logout token is a security event,
 * RFC 8417 §2.2), or bound to a key that nobody shows.
 */
const OTHER_KINDS = ["nonce", "at_hash", "c_hash", "s_hash", "events", "cnf"];

function kindProblem(claims: Claims): string | undefined {
  const found = OTHER_KINDS.find((name) => claims[name] !== undefined);
  return found === undefined ? undefined : `${found} is not for the token of a workload`;
}

function audienceProblem({ aud }: Claims, audiences: readonly string[]): string | undefined {
  return isMeantAlone(aud, (each) => audiences.includes(each)) ? undefined : "aud is not ours alone";
}

function bad(detail: string): Extract<WorkloadResult, { ok: false }> {
  return { ok: false, reason: "bad", detail };
}
