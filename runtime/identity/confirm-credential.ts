/**
 * Slow part of authentication: confirms the claims of a credential by the stored records → principal.
 *
 * Promise: session, grant, service account and user are looked up, and revocation is checked before and after.
 */
import type { LiveSettings } from "../config/compiled.ts";
import type { Snapshots } from "../config/snapshot.ts";
import { readUserId } from "../shared/user-id.ts";
import type { Store } from "../store/store.ts";
import type { IdentityService } from "./identities.ts";
import { isStillTrusted, workloadUser } from "./users/asserted.ts";
import type { CredentialUse, UsedBy } from "./users/credential-use.ts";
import { provenDevices, sameDevices } from "./users/device-facts.ts";
import type { Actor, AssertedBy, AuthFailureReason, AuthResult, Principal, User } from "./principal.ts";
import { userTag, type DeviceProof, type SessionRecords } from "./identity-records.ts";
import { serviceAccountUser } from "./tokens/service-accounts.ts";
import type { ExternalTokenClaims } from "./external-token.ts";
import type { Revocations } from "./interfaces.ts";

/** Claims of a credential, to be confirmed by the records. */
export interface Claimed extends Omit<ExternalTokenClaims, "kind" | "userId"> {
  readonly kind: Principal["kind"];
  readonly userId: string;
  /** The request that presented a session. */
  readonly usedBy?: UsedBy;
}

export interface ConfirmationDeps {
  readonly store: Pick<Store, "get">;
  readonly records: Pick<SessionRecords, "sessions" | "serviceAccounts" | "devices">;
  readonly identities: Pick<IdentityService, "load">;
  readonly revocations: Pick<Revocations, "isRevoked">;
  readonly snapshots: Pick<Snapshots, "current">;
  /** Notes the last use of sessions and service accounts. */
  readonly use?: CredentialUse | undefined;
}

/**
 * @param earlier the principal of the last confirmation, returned again if nothing changed
 * @throws GatewayError `store.unavailable`
 */
export type Confirm = (claimed: Claimed, earlier: Principal | undefined) => Promise<AuthResult>;

export function createConfirmation(deps: ConfirmationDeps): Confirm {
  const { revocations } = deps;
  return async (claimed, earlier) => {
    const keys = revocationKeys(claimed);
    if (revocations.isRevoked(keys)) return refusal("revoked");
    if (claimed.kind === "service-account") return confirmServiceAccount(deps, claimed, keys, earlier);
    const { userId } = claimed;
    let { expiresAt } = claimed;
    let proofs: readonly DeviceProof[] = [];
    const { session, grant, run, user: loaded } = await read(deps, claimed);
    if (claimed.sessionId !== undefined) {
      if (!session) return refusal("revoked");
      if (userId !== session.value.userId) return refusal("malformed");
      if (claimed.usedBy) deps.use?.session(claimed.sessionId, session, claimed.usedBy);
      expiresAt = Math.min(expiresAt, session.expiresAt ?? expiresAt);
      if (claimed.kind === "session") proofs = session.value.devices ?? [];
    }
    let assertedBy: AssertedBy | undefined;
    if (claimed.grantId !== undefined) {
      if (!grant) return refusal("revoked");
      ({ assertedBy } = grant.value);
      expiresAt = Math.min(expiresAt, grant.expiresAt ?? expiresAt);
    }
    const grantId = claimed.grantId ?? claimed.runId;
    const sid = claimed.sessionId ?? grantId;
    if (claimed.runId !== undefined && !run) return refusal("revoked");
    if (sid === undefined || (run && run.userId !== userId)) return refusal("malformed");
    if (run) expiresAt = Math.min(expiresAt, run.expiresAt);
    const { settings } = deps.snapshots.current();
    // A workload never uses a person's record, and a workload's grant never authenticates a person.
    if ((claimed.kind === "workload") !== (assertedBy?.rules !== undefined)) return refusal("malformed");
    const found = assertedBy?.rules ? workloadOf(settings, assertedBy, userId) : loaded;
    const user = found && run ? { ...found, actor: run.actor } : found;
    if (!user) return refusal(claimed.kind === "workload" ? "revoked" : "unknown-user");
    const devices = proofs.length === 0 ? undefined : await provenDevices(deps, proofs, userId);
    // A revocation may have arrived while reading.
    if (revocations.isRevoked(keys)) return refusal("revoked");
    const caller = { assertedBy, user, clientId: claimed.clientId };
    if (!isStillTrusted(deps.snapshots.current().settings, caller)) return refusal("revoked");
    // The same object while nothing changes: assertions and application tokens are cached by it.
    if (earlier && isSameUser(earlier, user, expiresAt) && sameDevices(earlier.devices, devices)) {
      return { ok: true, principal: earlier };
    }
    return {
      ok: true,
      principal: {
        kind: claimed.kind,
        user,
        sid,
        ...(claimed.sessionId === undefined ? {} : { sessionId: claimed.sessionId }),
        ...(grantId === undefined ? {} : { grantId }),
        ...(claimed.clientId === undefined ? {} : { clientId: claimed.clientId }),
        ...(claimed.scopes === undefined ? {} : { scopes: claimed.scopes }),
        ...(claimed.keyThumbprint === undefined ? {} : { keyThumbprint: claimed.keyThumbprint }),
        ...(claimed.routeKey === undefined ? {} : { routeKey: claimed.routeKey }),
        ...(devices === undefined ? {} : { devices }),
        ...(assertedBy === undefined ? {} : { assertedBy }),
        expiresAt,
        revocationKeys: [...keys, userTag(userId), ...(run ? [userTag(run.actor.id)] : [])],
      },
    };
  };
}

/** Reads everything at once: the store can answer it as one query. */
async function read(deps: ConfirmationDeps, { kind, userId, sessionId, grantId, runId }: Claimed) {
  const named = Promise.all([
    sessionId === undefined ? undefined : deps.records.sessions.get(sessionId),
    grantId === undefined ? undefined : deps.store.get<StoredGrant>(`grant:${grantId}`),
    runId === undefined ? undefined : findRun(deps, runId),
  ]);
  const areThere = async (): Promise<boolean> => {
    const [session, grant, run] = await named;
    return (!sessionId || !!session) && (!grantId || !!grant) && (!runId || !!run);
  };
  const loading = kind === "workload" ? undefined : deps.identities.load(userId, areThere);
  const [[session, grant, run], user] = await Promise.all([named, loading]);
  return { session, grant, run, user };
}

/** The used part of the record in oauth/server/grants/. */
interface StoredGrant {
  readonly assertedBy?: AssertedBy;
}

/** An active run of a workload for a user. @returns undefined if it has ended */
async function findRun(
  { store }: Pick<ConfirmationDeps, "store">,
  id: string,
): Promise<{ readonly userId: string; readonly expiresAt: number; readonly actor: Actor } | undefined> {
  const found = await store.get<StoredRun>(`run:${id}`);
  if (found?.value.state !== "active" || found.value.userId === undefined) return undefined;
  const { userId, endsAt, workload } = found.value;
  const { userId: actorId, claims, assertedBy } = workload;
  return { userId, expiresAt: endsAt, actor: { id: actorId, run: id, claims, assertedBy } };
}

/** The used part of the record in oauth/server/runs/. The token that names it is sealed, and made after its proof was checked. */
interface StoredRun {
  readonly state: string;
  readonly userId?: string;
  readonly endsAt: number;
  readonly workload: Pick<Actor, "claims" | "assertedBy"> & { readonly userId: string };
}

/** The email may change without a new version: `idp_require_email_verified` applies when the record is read. */
function isSameUser(earlier: Principal, { version, claims }: User, expiresAt: number): boolean {
  const { user } = earlier;
  return user.version === version && user.claims["email"] === claims["email"] && earlier.expiresAt === expiresAt;
}

function workloadOf(settings: LiveSettings, assertedBy: AssertedBy, id: string): User | undefined {
  const userId = readUserId(id);
  return userId && workloadUser(settings, assertedBy, userId);
}

/** A service account is its own record. No identity provider knows it. */
async function confirmServiceAccount(
  deps: ConfirmationDeps,
  claimed: Claimed,
  keys: readonly string[],
  earlier: Principal | undefined,
): Promise<AuthResult> {
  const { accountId: sid, clientId, scopes, keyThumbprint } = claimed;
  if (sid === undefined) return refusal("malformed");
  const account = await deps.records.serviceAccounts.get(sid);
  if (!account) return refusal("revoked");
  deps.use?.serviceAccount(sid, account);
  const user = serviceAccountUser(account.value);
  if (user.id !== claimed.userId) return refusal("malformed");
  if (deps.revocations.isRevoked(keys)) return refusal("revoked");
  const expiresAt = Math.min(claimed.expiresAt, account.expiresAt ?? claimed.expiresAt);
  if (earlier?.expiresAt === expiresAt) return { ok: true, principal: earlier };
  return {
    ok: true,
    principal: {
      kind: "service-account",
      user,
      sid,
      ...(clientId === undefined ? {} : { clientId }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
      expiresAt,
      revocationKeys: [...keys, userTag(user.id)],
    },
  };
}

/** Keys whose revocation ends a credential. The user's key is added once the user is known. */
function revocationKeys(claimed: Claimed): string[] {
  const keys: string[] = [];
  if (claimed.sessionId !== undefined) keys.push(`session:${claimed.sessionId}`);
  if (claimed.grantId !== undefined) keys.push(`grant:${claimed.grantId}`);
  if (claimed.runId !== undefined) keys.push(`run:${claimed.runId}`);
  if (claimed.accountId !== undefined) keys.push(`service-account:${claimed.accountId}`);
  if (claimed.clientId !== undefined) keys.push(`client:${claimed.clientId}`);
  return keys;
}

const REFUSALS = new Map<AuthFailureReason, AuthResult>();

/** One object per reason, since refusals are frequent. */
export function refusal(reason: AuthFailureReason): AuthResult {
  let result = REFUSALS.get(reason);
  if (!result) {
    result = { ok: false, reason };
    REFUSALS.set(reason, result);
  }
  return result;
}
