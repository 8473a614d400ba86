/**
 * Users as the provider has them: the newest claims and the newest provider tokens of each, one record per user.
 *
 * Promises: one refresh per user at a time, in this process and across replicas (many providers rotate refresh tokens
 * and take a second use for theft); what the provider gave is stored before anything is done with it; a provider that
 * cannot be reached ends no access; one that refuses a user (provider/standing.ts) ends the user's sessions and grants.
 */
import type { Snapshots } from "../config/snapshot.ts";
import { errorCode, GatewayError, errorText } from "../shared/errors.ts";
import type { Keys } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock, type TokenRefresh } from "../shared/clock.ts";
import { parseUserId, type UserId } from "../shared/user-id.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import {
  createTokenSeal,
  hasProvider,
  identityEnd,
  isOfAnother,
  issuerOf,
  mergeIdentity,
  type ProviderAnswer,
  providerOf,
  refusedRecord,
  RENEW_AHEAD_SECONDS,
  storedFacts,
  toUser,
} from "./claims-record.ts";
import type { IdentityProvider, ProviderTokenSet } from "./provider/idp.ts";
import { createProviderStanding } from "./provider/standing.ts";
import { createCooldowns } from "../shared/cooldown.ts";
import { createLeasedRefreshes } from "../shared/leased-refresh.ts";
import type { User } from "./principal.ts";
import { withEarlierUnverified, type ProfileFacts } from "./provider/provider-claims.ts";
import { createIdentityProof, putProven, readProven } from "./users/identity-proof.ts";
import {
  afterWaiting,
  countedAs,
  OUTAGE,
  REFUSED,
  UNAVAILABLE,
  UNCONFIRMED,
  type RefreshResult,
} from "./users/refresh-result.ts";
import { userTag, type IdentityRecord, type SessionRecords } from "./identity-records.ts";
import type { Identities, ProviderTokens, Revocations } from "./interfaces.ts";
import { createTellIdentities } from "./tell-identities.ts";

export interface IdentityService extends Identities {
  /** Stores what a completed sign-in brought of a user. */
  recordSignIn(tokens: ProviderTokenSet, userId: UserId, profile: ProfileFacts): Promise<User>;
  /**
   * The user for a decision. Asks the provider again when that is due: in the background while the tokens last, first
   * of all when they have ended.
   *
   * @returns undefined when there is no such user any more
   */
  load(userId: string): Promise<User | undefined>;
  /** @returns empty texts when the user has none */
  providerTokens(userId: string): Promise<ProviderTokens>;
  close(): Promise<void>;
}

export interface IdentityDeps {
  readonly store: Store;
  readonly records: SessionRecords;
  readonly snapshots: Snapshots;
  readonly idp: IdentityProvider;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each question to the provider. */
  readonly onRefresh?: ((refresh: TokenRefresh) => void) | undefined;
}

/** Between two attempts while the provider is away. */
const RETRY_MS = 30_000;
/** Between two attempts to store what the provider gave: until then nobody else may use the old token. */
const RETRY_SAVE_MS = 1000;
/** For another holder: longer than the longest exchange with a provider. */
const LONGEST_WAIT_MS = 45_000;
const LEASE_POLL_MS = 150;
const MAX_CONFLICTS = 8;

export function createIdentities(deps: IdentityDeps): IdentityService {
  const { records, clock, log } = deps;
  const tokenSeal = createTokenSeal(deps.keys);
  const proof = createIdentityProof(deps.keys);
  const tell = createTellIdentities(log);
  const standing = createProviderStanding(clock);
  const refreshes = createLeasedRefreshes<RefreshResult>();
  /** Users about whom an unreachable provider is not asked again yet. */
  const cooldowns = createCooldowns(clock);
  /** Answers of the provider that the store did not take, by the sealed refresh token they replace. */
  const unsaved = new Map<string, { readonly used: string | undefined; readonly tokens: ProviderTokenSet }>();

  const lifetime = (): number => identityEnd(deps.snapshots.current().settings, epochSeconds(clock));

  const userOf = (record: IdentityRecord): User => toUser(record, deps.snapshots.current().settings);

  const merge = (answer: ProviderAnswer): IdentityRecord => mergeIdentity({ tokenSeal, nowMs: clock.now() }, answer);

  /** What signed in before subjects were checked may have the id of a machine or of another issuer's user: that is nobody. */
  const read = async (userId: string): Promise<StoredRecord<IdentityRecord> | undefined> => {
    const parts = parseUserId(userId);
    if (parts?.kind !== "person") return undefined;
    const stored = await readProven(records, proof, userId);
    return stored?.value.issuer === parts.issuer ? stored : undefined;
  };

  const put = (record: IdentityRecord, ifVersion: number) =>
    putProven(records, proof, record, { ifVersion, expiresAt: lifetime() });

  const refresh = (userId: string): Promise<RefreshResult> =>
    refreshes.once(userId, () =>
      refreshShared(userId).catch((error: unknown): RefreshResult => {
        log.warn({ user: userId, reason: errorText(error) }, "a user cannot be refreshed now");
        return UNAVAILABLE;
      }),
    );

  const refreshShared = async (userId: string): Promise<RefreshResult> => {
    const before = await read(userId);
    if (!before || before.value.refusedAt !== undefined) return REFUSED;
    const settled = (stored: StoredRecord<IdentityRecord> | undefined): RefreshResult | undefined => {
      if (!stored || stored.value.refusedAt !== undefined) return REFUSED;
      // Another replica was faster: its answer is as new as ours would be.
      return stored.value.confirmations !== before.value.confirmations
        ? { ok: true, user: userOf(stored.value) }
        : undefined;
    };
    const result = await refreshes.underLease({
      lease: (ttlMs) => deps.store.lease(`refresh-identity:${userId}`, ttlMs),
      waits: pollsUntil(performance.now() + LONGEST_WAIT_MS),
      look: async () => settled(await read(userId)),
      work: async () => {
        const stored = await read(userId);
        if (!stored) return REFUSED;
        return settled(stored) ?? timed(() => askProvider(stored));
      },
    });
    return result ?? UNAVAILABLE;
  };

  function* pollsUntil(giveUpAtMs: number): Iterable<number> {
    while (performance.now() < giveUpAtMs) yield LEASE_POLL_MS;
  }

  const timed = async (ask: () => Promise<RefreshResult>): Promise<RefreshResult> => {
    const startedMs = performance.now();
    const result = await ask();
    const tookMs = performance.now() - startedMs;
    deps.onRefresh?.({ of: "identity", result: countedAs(result), tookMs });
    return result;
  };

  /** Under the lease. */
  const askProvider = async (stored: StoredRecord<IdentityRecord>): Promise<RefreshResult> => {
    const { userId } = stored.value;
    const settings = providerOf(stored.value, deps.snapshots.current().settings);
    const refreshToken = tokenSeal.open(userId, "refresh", stored.value.refreshToken);
    if (settings === undefined || refreshToken === undefined) return REFUSED;
    try {
      const used = stored.value.refreshToken;
      const waiting = unsaved.get(userId);
      const tokens =
        waiting && waiting.used === used ? waiting.tokens : await deps.idp.exchangeRefreshToken(settings, refreshToken);
      // Before anything else may fail: the old refresh token may be dead from here on.
      unsaved.set(userId, { used, tokens });
      const saved = await save(stored, (earlier) => merge({ earlier, userId, tokens, profile: undefined }));
      unsaved.delete(userId);
      const { profile } = await deps.idp.readUser(settings, tokens, userId);
      const confirmed = await save(saved, (earlier) => {
        const before = storedFacts(earlier);
        const isWhole = profile === undefined || tokens.idClaims !== undefined;
        const facts = isWhole ? (profile ?? before) : withEarlierUnverified(profile, before);
        return merge({ earlier, userId, tokens, profile: facts });
      });
      tell.leftOut(saved.value, confirmed.value);
      standing.confirmed(settings.providerUrl, userId);
      cooldowns.end(userId);
      return { ok: true, user: userOf(confirmed.value) };
    } catch (error) {
      if (errorCode(error) === "identity.ended") {
        unsaved.delete(userId);
        return REFUSED;
      }
      const limitMs = deps.snapshots.current().settings.unconfirmedUserSeconds * 1000;
      const verdict = standing.failed(settings.providerUrl, userId, error, limitMs);
      if (verdict === "refused" || verdict === "unconfirmed") return await refuse(stored, verdict, errorText(error));
      cooldowns.begin(userId, unsaved.has(userId) ? RETRY_SAVE_MS : RETRY_MS);
      tell.failed(userId, verdict, error);
      return verdict === "outage" ? OUTAGE : UNAVAILABLE;
    }
  };

  /**
   * Leaves what a sign-in wrote meanwhile: its tokens are newer than those asked for before it.
   *
   * @throws GatewayError `identity.ended` when the user was ended meanwhile: what was forgotten stays forgotten
   */
  const save = async (
    from: StoredRecord<IdentityRecord>,
    next: (earlier: IdentityRecord) => IdentityRecord,
  ): Promise<StoredRecord<IdentityRecord>> => {
    let earlier: StoredRecord<IdentityRecord> | undefined = from;
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
      if (earlier === undefined)
        throw new GatewayError("identity.gone", "Cannot store a refreshed user: the record is gone");
      const value = next(earlier.value);
      const result = await put(value, earlier.version);
      if (result.ok) return { ...earlier, value, version: result.version };
      earlier = await read(from.value.userId);
      if (earlier?.value.refusedAt !== undefined)
        throw new GatewayError("identity.ended", "Cannot store a refreshed user: it was ended meanwhile");
      if (earlier && earlier.value.signIns !== from.value.signIns) return earlier;
    }
    throw new GatewayError("identity.conflict", "Cannot store a refreshed user: the record keeps changing");
  };

  const refuse = async (
    stored: StoredRecord<IdentityRecord>,
    verdict: "refused" | "unconfirmed",
    reason: string,
  ): Promise<RefreshResult> => {
    const { userId } = stored.value;
    const current = await read(userId);
    // A sign-in meanwhile brought a new token: what was refused was only the old one.
    if (current && current.value.refusedAt === undefined && current.value.signIns !== stored.value.signIns) {
      return { ok: true, user: userOf(current.value) };
    }
    tell.ended(userId, verdict, reason);
    if (current) {
      const result = await put(refusedRecord(current.value, epochSeconds(clock)), current.version);
      // Somebody wrote in this very moment: look again whether it was a sign-in.
      if (!result.ok) return refuse(stored, verdict, reason);
    }
    await deps.revocations.revoke(userTag(userId));
    return verdict === "refused" ? REFUSED : UNCONFIRMED;
  };

  return {
    async find(userId) {
      const stored = await read(userId);
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      return hasProvider(stored.value, deps.snapshots.current().settings) ? userOf(stored.value) : undefined;
    },
    refresh,
    async recordSignIn(tokens, userId, profile) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await records.identities.get(userId);
        if (stored && stored.value.issuer !== issuerOf(userId)) {
          throw new GatewayError(
            "idp.subject",
            `Cannot store user ${JSON.stringify(userId)}: another issuer's user has this id`,
          );
        }
        // What ended with the refusal must not come back with the user, and may not have ended: the store went away.
        if (stored?.value.refusedAt !== undefined || isOfAnother(stored?.value, tokens))
          await deps.revocations.revoke(userTag(userId));
        const value = {
          ...merge({ earlier: stored?.value, userId, tokens, isSignIn: true, profile }),
          signIns: (stored?.value.signIns ?? 0) + 1,
        };
        const result = await put(value, stored?.version ?? 0);
        if (result.ok) {
          standing.confirmed(tokens.providerUrl, userId);
          cooldowns.end(userId);
          tell.signedIn(stored?.value, value, tokens);
          return userOf(value);
        }
      }
      throw new GatewayError("identity.conflict", "Cannot store a user who signed in: the record keeps changing");
    },
    async load(userId) {
      const stored = await read(userId);
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      const { refreshDueAt } = stored.value;
      const now = epochSeconds(clock);
      if (refreshDueAt === undefined || now < refreshDueAt) return userOf(stored.value);
      if (cooldowns.has(userId)) return userOf(stored.value);
      const asked = refresh(userId);
      if (now < refreshDueAt + RENEW_AHEAD_SECONDS) return userOf(stored.value);
      const result = await Promise.race([asked, afterWaiting()]);
      if (result.ok) return result.user;
      // A provider that is away signs nobody out: the session has its own end.
      return result.reason === "unavailable" ? userOf(stored.value) : undefined;
    },
    async providerTokens(userId) {
      const record = (await read(userId))?.value;
      if (!record || record.refusedAt !== undefined) return { accessToken: "", idToken: "" };
      return {
        accessToken: tokenSeal.open(record.userId, "access", record.accessToken) ?? "",
        idToken: tokenSeal.open(record.userId, "id", record.idToken) ?? "",
      };
    },
    close: refreshes.close,
  };
}
