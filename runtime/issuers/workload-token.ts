/**
 * Verifies tokens of platforms for their jobs, pods and machines, and finds the rules that they match.
 *
 * Untrusted input: the token, until its issuer's signature is verified. After that the issuer is trusted about its
 * workloads, but never about users. Promises:
 * - A user id made from a token never equals a person's id.
 * - A token for other audiences, or one that tells an application about its user, is rejected.
 * - Only the subject of the token is stored, and the claims that a rule with `agent_runs` names.
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
import { isOnlyAudience, isUsableId, MAX_ASSERTION_CHARACTERS, readUnverified } from "./read-unverified.ts";

export interface Workload {
  readonly entry: TrustedIssuer;
  readonly userId: UserId;
  /** Matching rules, at least one. The caller checks what they grant. */
  readonly rules: readonly WorkloadRule[];
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** Hash of issuer and token: the same at every presentation. */
  readonly hash: string;
  readonly claims: Claims;
}

export type WorkloadResult =
  | { readonly ok: true; readonly workload: Workload }
  /** bad: the token is not valid here. unavailable: it cannot be checked without the keys. `detail` is for the log. */
  | { readonly ok: false; readonly reason: "bad" | "unavailable"; readonly detail: string };

export interface WorkloadTokenContext {
  /** Entries with the use under which the token is presented. */
  readonly entries: readonly TrustedIssuer[];
  /** Allowed audiences if the entry names none. */
  readonly audiences: readonly string[];
  /** Epoch seconds. */
  readonly now: number;
}

type Claims = Readonly<Record<string, unknown>>;

export async function verifyWorkload(
  keys: IssuerKeys,
  { entries, audiences, now }: WorkloadTokenContext,
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
  if (rules.length === 0) return bad(`matches no rule of ${entry.name}`);
  return { ok: true, workload: { entry, userId: made.id, rules, expiresAt, hash, claims } };
}

export interface PlatformTokenTerms {
  readonly audiences: readonly string[];
  /** Maximum time from `iat` to `exp`. */
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

/**
 * Verifies a platform's token for a workload, for any purpose. @param termsOf returns the requirements of the issuer's
 * entry
 */
export async function verifyPlatformToken<Entry extends KeyOwner>(
  keys: IssuerKeys,
  entries: readonly Entry[],
  token: string,
  termsOf: (entry: Entry) => PlatformTokenTerms,
): Promise<PlatformTokenResult<Entry>> {
  // Check the type before using any claim.
  if (token.length > MAX_ASSERTION_CHARACTERS) return bad("too long");
  const claimed = readUnverified(token);
  if (claimed === undefined) return bad("not a compact JWS");
  if (claimed.type !== undefined && claimed.type !== "JWT") return bad("typ is not that of a platform's token");

  // For the look-up only: the issuer is not verified yet.
  const entry = await findEntry(keys, entries, claimed.issuer);
  if (!entry) return bad("iss is not an issuer with the use workload here");

  // One of this issuer's keys must have signed the token.
  const signed = await keys.verify(entry, token);
  if (!signed.ok) return signed;
  const { claims } = signed;
  const { audiences, maxAgeSeconds, now } = termsOf(entry);
  const problem = kindProblem(claims) ?? audienceProblem(claims, audiences);
  if (problem !== undefined) return bad(problem);
  // No tolerance after `exp`: a credential issued for the token expires with it.
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
    // Without the signature, which the holder of the token could encode differently.
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
 * Claims of other kinds of tokens: ID tokens (OpenID Connect Core §2, §3.1.3.6), security events such as logout tokens
 * (RFC 8417 §2.2), and tokens bound to a key that this caller does not present.
 */
const OTHER_KINDS = ["nonce", "at_hash", "c_hash", "s_hash", "events", "cnf"];

function kindProblem(claims: Claims): string | undefined {
  const found = OTHER_KINDS.find((name) => claims[name] !== undefined);
  return found === undefined ? undefined : `${found} is not for the token of a workload`;
}

function audienceProblem({ aud }: Claims, audiences: readonly string[]): string | undefined {
  return isOnlyAudience(aud, (each) => audiences.includes(each)) ? undefined : "aud is not only this gateway";
}

function bad(detail: string): Extract<WorkloadResult, { ok: false }> {
  return { ok: false, reason: "bad", detail };
}
