/**
 * Users and workloads asserted by a trusted issuer without a sign-in: their stored facts, and checks that the trust
 * still exists.
 */
import type { LiveSettings } from "../../config/compiled.ts";
import { issuersFor, type IssuerUse, type TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import { findProviderOf, type Providers } from "../../features/sign-in/providers.ts";
import type { WorkloadRule } from "../../features/sign-in/workload-rules.ts";
import { parseUserId, readUserId, type UserId } from "../../shared/user-id.ts";
import { issuerOf } from "../claims-record.ts";
import type { IdentityRecord } from "../identity-records.ts";
import type { Actor, AssertedBy, Principal, User } from "../principal.ts";

/** Facts about the user in an assertion. */
export interface AssertedUser {
  readonly userId: UserId;
  /** `iss`. */
  readonly issuer: string;
  /** "" if there is none that the issuer is trusted to assert. */
  readonly email: string;
  /** True if the assertion says so. */
  readonly isEmailVerified: boolean;
  /** Epoch seconds. */
  readonly issuedAt: number;
}

/** Returns true if the current settings would grant the same access. */
function isAssertionTrusted(
  settings: TrustSettings,
  assertedBy: AssertedBy,
  userId: UserId,
  clientId: string | undefined,
): boolean {
  if (assertedBy.rules !== undefined) return rulesInForce(settings, assertedBy, userId) !== undefined;
  const entry = findEntry(settings, assertedBy, "id_jag");
  if (!entry || entry.userIssuer !== issuerOf(userId)) return false;
  return entry.allowedClients === undefined || (clientId !== undefined && entry.allowedClients.has(clientId));
}

/** Returns true if the current settings trust the issuer of an assertion, or the provider of a sign-in. */
export function isStillTrusted(
  settings: TrustSettings & Providers,
  { assertedBy, user, clientId }: TrustedCaller,
): boolean {
  if (assertedBy) return isAssertionTrusted(settings, assertedBy, user.id, clientId);
  const { issuer, actor } = user;
  if (actor && !isActorTrusted(settings, actor)) return false;
  // If the name refers to another issuer now, the same subject is another user.
  return issuer === undefined || findProviderOf(settings, issuer.name)?.providerUrl === issuer.url;
}

/** Returns true if the trust must be checked. Most callers belong to the first provider, which needs no check. */
export function needsTrustCheck({ assertedBy, user }: TrustedCaller): boolean {
  return assertedBy !== undefined || user.issuer !== undefined || user.actor !== undefined;
}

/** Returns true if the rule that admitted the workload is unchanged. */
function isActorTrusted(settings: TrustSettings, { id, assertedBy }: Actor): boolean {
  const userId = readUserId(id);
  return userId !== undefined && rulesInForce(settings, assertedBy, userId) !== undefined;
}

type TrustedCaller = Pick<Principal, "user"> & {
  readonly assertedBy?: AssertedBy | undefined;
  readonly clientId?: string | undefined;
};

/** Stored facts about the issuer that asserted a workload. */
export function asserter(
  { name, issuer }: TrustedIssuer,
  origin: string,
  rules: readonly WorkloadRule[],
): AssertedBy & { readonly rules: readonly Pick<WorkloadRule, "name" | "digest">[] } {
  return { name, issuer, origin, rules: rules.map((rule) => ({ name: rule.name, digest: rule.digest })) };
}

/**
 * A workload for policies and records: in the groups of its rules, without any other claims of its platform.
 *
 * @returns undefined if one of its rules was removed or changed
 */
export function workloadUser(settings: TrustSettings, assertedBy: AssertedBy, userId: UserId): User | undefined {
  const rules = rulesInForce(settings, assertedBy, userId);
  if (!rules) return undefined;
  const groups = [...new Set(rules.flatMap((rule) => rule.groups))];
  return { id: userId, email: "", name: "", groups, claims: {}, version: 1 };
}

function rulesInForce(
  settings: TrustSettings,
  assertedBy: AssertedBy,
  userId: UserId,
): readonly WorkloadRule[] | undefined {
  const entry = findEntry(settings, assertedBy, "workload");
  const parts = parseUserId(userId);
  if (!entry || parts?.kind !== "workload" || parts.issuer !== entry.name) return undefined;
  const rules: WorkloadRule[] = [];
  for (const { name, digest } of assertedBy.rules ?? []) {
    const rule = entry.workloadRules.find((each) => each.name === name);
    if (rule?.digest !== digest) return undefined;
    rules.push(rule);
  }
  return rules.length === 0 ? undefined : rules;
}

type TrustSettings = Pick<LiveSettings, "identityIssuers">;

function findEntry(
  { identityIssuers }: TrustSettings,
  { name, issuer, origin }: AssertedBy,
  use: IssuerUse,
): TrustedIssuer | undefined {
  const entry = issuersFor(identityIssuers, use, origin).find((each) => each.name === name);
  return entry?.issuer === issuer ? entry : undefined;
}

/** Record of a user who never signed in: without tokens; groups and claims that were not asserted are unknown. */
export function assertedRecord(
  { userId, issuer, email, isEmailVerified }: AssertedUser,
  nowMs: number,
  earlier: IdentityRecord | undefined,
): IdentityRecord {
  const name = issuerOf(userId);
  // The object id from the same provider never changes, and its directory uses it.
  const oid = earlier?.providerUrl === issuer ? earlier.claims["oid"] : undefined;
  return {
    userId,
    ...(name === undefined ? {} : { issuer: name }),
    providerUrl: issuer,
    providerClientId: "",
    version: Math.max(nowMs, (earlier?.version ?? 0) + 1),
    email,
    name: "",
    groups: [],
    claims: {
      sub: userId,
      ...(oid === undefined ? {} : { oid }),
      ...(email === "" ? {} : { email, ...(isEmailVerified ? { email_verified: true } : {}) }),
    },
    leftOut: { groups: true, claims: [], others: true },
    confirmedAt: Math.floor(nowMs / 1000),
    confirmations: (earlier?.confirmations ?? 0) + 1,
    signIns: earlier?.signIns ?? 0,
  };
}

/**
 * Returns true if an existing record takes precedence over an assertion. Facts from a sign-in do, but not forever:
 * without a refresh token, group changes never arrive, and the sessions that may use them expire.
 */
export function takesPrecedence(
  record: IdentityRecord,
  asserted: AssertedUser,
  nowMs: number,
  sessionSeconds: number,
): boolean {
  if (record.refusedAt !== undefined) return false;
  if (record.accessToken === undefined)
    return record.providerUrl === asserted.issuer && record.email === asserted.email;
  return record.refreshToken !== undefined || record.confirmedAt + sessionSeconds > Math.floor(nowMs / 1000);
}
