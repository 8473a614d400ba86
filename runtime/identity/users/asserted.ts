/** Users and workloads whom a trusted issuer vouches for without a sign-in: what is kept, and whether the trust still stands. */
import type { LiveSettings } from "../../config/compiled.ts";
import { issuersFor, type IssuerUse, type TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import { findProviderOf, type Providers } from "../../features/sign-in/providers.ts";
import type { WorkloadRule } from "../../features/sign-in/workload-rules.ts";
import { parseUserId, type UserId } from "../../shared/user-id.ts";
import { issuerOf } from "../claims-record.ts";
import type { IdentityRecord } from "../identity-records.ts";
import type { AssertedBy, Principal, User } from "../principal.ts";

/** What an assertion says of its user. */
export interface AssertedUser {
  readonly userId: UserId;
  /** `iss`. */
  readonly issuer: string;
  /** "" when there is none that the issuer may vouch for. */
  readonly email: string;
  /** It says so; otherwise it is silent. */
  readonly isEmailVerified: boolean;
  /** Epoch seconds. */
  readonly issuedAt: number;
}

/** Whether what an issuer gave access to would be given today. */
function isStillTrusted(
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

/** Whether who vouches for a caller would be believed today: the issuer of an assertion, or the provider of a sign-in. */
export function isStillVouchedFor(
  settings: TrustSettings & Providers,
  { assertedBy, user, clientId }: Vouched,
): boolean {
  if (assertedBy) return isStillTrusted(settings, assertedBy, user.id, clientId);
  const { issuer } = user;
  // Under a name that is another issuer's now, the same subject is somebody else.
  return issuer === undefined || findProviderOf(settings, issuer.name)?.providerUrl === issuer.url;
}

/** Whether that has to be asked: nobody but the first provider vouches for most callers. */
export function needsVoucher({ assertedBy, user }: Vouched): boolean {
  return assertedBy !== undefined || user.issuer !== undefined;
}

type Vouched = Pick<Principal, "user"> & {
  readonly assertedBy?: AssertedBy | undefined;
  readonly clientId?: string | undefined;
};

/** What is kept of who vouched for a workload. */
export function asserter(
  { name, issuer }: TrustedIssuer,
  origin: string,
  rules: readonly WorkloadRule[],
): AssertedBy & { readonly rules: readonly Pick<WorkloadRule, "name" | "digest">[] } {
  return { name, issuer, origin, rules: rules.map((rule) => ({ name: rule.name, digest: rule.digest })) };
}

/**
 * A workload as policies and records see it: in the groups of its rules, and known by nothing else that its platform says.
 *
 * @returns undefined when one of the rules that let it in is gone, or says something else now
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

/** The record of a user who never signed in: no tokens; groups and claims that were not said are unknown. */
export function assertedRecord(
  { userId, issuer, email, isEmailVerified }: AssertedUser,
  nowMs: number,
  earlier: IdentityRecord | undefined,
): IdentityRecord {
  const name = issuerOf(userId);
  // What the same provider once called them in all of its applications does not change, and its directory goes by it.
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
 * Whether a record goes on as it is. What a sign-in brought goes before what an assertion says, but not for ever: without a
 * refresh token nobody hears of changed groups, and the sessions that may still use them have their end.
 */
export function standsBeside(
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
