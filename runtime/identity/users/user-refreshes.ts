/**
 * Checks users whose claims are due with the identity provider, and revokes the access of rejected users.
 *
 * `identities.ts` has the promises.
 */
import type { Snapshots } from "../../config/snapshot.ts";
import { epochSeconds, type Clock, type TokenRefresh } from "../../shared/clock.ts";
import { createCooldowns, type Cooldowns } from "../../shared/backoff.ts";
import { errorCode, errorText, GatewayError } from "../../shared/errors.ts";
import type { Keys } from "../../shared/keys.ts";
import { createLeasedRefreshes } from "../../shared/leased-refresh.ts";
import type { Log } from "../../shared/log.ts";
import { parseUserId } from "../../shared/user-id.ts";
import type { PutResult, Store, StoredRecord } from "../../store/store.ts";
import {
  createTokenSeal,
  identityEnd,
  mergeIdentity,
  type ProviderAnswer,
  providerOf,
  refusedRecord,
  storedFacts,
  type TokenSeal,
  toUser,
} from "../claims-record.ts";
import { userTag, type IdentityRecord, type SessionRecords } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";
import type { User } from "../principal.ts";
import type { IdentityProvider, ProviderTokenSet } from "../provider/idp.ts";
import { withEarlierUnverified } from "../provider/provider-claims.ts";
import { createProviderVerdicts, type ProviderVerdicts } from "../provider/provider-verdicts.ts";
import type { IdentityLog } from "../identity-log.ts";
import { createIdentityProof, type IdentityProof, putProven, readProven } from "./identity-proof.ts";
import { countedAs, OUTAGE, REFUSED, UNAVAILABLE, UNCONFIRMED, type RefreshResult } from "./refresh-result.ts";

export interface IdentityDeps {
  readonly store: Store;
  readonly records: SessionRecords;
  readonly snapshots: Snapshots;
  readonly idp: IdentityProvider;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each provider request. */
  readonly onRefresh?: ((refresh: TokenRefresh) => void) | undefined;
}

/** Pause between attempts while the provider is unavailable. */
const RETRY_MS = 30_000;
/** Pause between attempts to store the provider's tokens. Until then, no other process may use the old token. */
const RETRY_SAVE_MS = 1000;
/** Maximum wait for another lease holder: longer than the longest exchange with a provider. */
const LONGEST_WAIT_MS = 45_000;
const LEASE_POLL_MS = 150;
const MAX_CONFLICTS = 8;

/** Access to the records of users. */
export class StoredUsers {
  readonly #deps: IdentityDeps;
  readonly #proof: IdentityProof;
  readonly tokenSeal: TokenSeal;

  constructor(deps: IdentityDeps) {
    this.#deps = deps;
    this.#proof = createIdentityProof(deps.keys);
    this.tokenSeal = createTokenSeal(deps.keys);
  }

  /**
   * Before subjects were checked, a sign-in could get the id of a service account or of another issuer's user. Such
   * records are ignored.
   */
  async read(userId: string): Promise<StoredRecord<IdentityRecord> | undefined> {
    const parts = parseUserId(userId);
    if (parts?.kind !== "person") return undefined;
    const stored = await readProven(this.#deps.records, this.#proof, userId);
    return stored?.value.issuer === parts.issuer ? stored : undefined;
  }

  put(record: IdentityRecord, ifVersion: number): Promise<PutResult> {
    const { records, snapshots, clock } = this.#deps;
    const expiresAt = identityEnd(snapshots.current().settings, epochSeconds(clock));
    return putProven(records, this.#proof, record, { ifVersion, expiresAt });
  }

  merge(answer: ProviderAnswer): IdentityRecord {
    return mergeIdentity({ tokenSeal: this.tokenSeal, nowMs: this.#deps.clock.now() }, answer);
  }

  userOf(record: IdentityRecord): User {
    return toUser(record, this.#deps.snapshots.current().settings);
  }
}

export class UserRefreshes {
  readonly #deps: IdentityDeps;
  readonly #users: StoredUsers;
  readonly #tell: IdentityLog;
  readonly #verdicts: ProviderVerdicts;
  readonly #refreshes = createLeasedRefreshes<RefreshResult>();
  /** Users whose provider was unreachable and is not asked again yet. */
  readonly #cooldowns: Cooldowns;
  /** Unsaved tokens of the provider, with the sealed refresh token that they replace. */
  readonly #unsaved = new Map<string, { readonly used: string | undefined; readonly tokens: ProviderTokenSet }>();

  constructor(deps: IdentityDeps, users: StoredUsers, tell: IdentityLog) {
    this.#deps = deps;
    this.#users = users;
    this.#tell = tell;
    this.#verdicts = createProviderVerdicts(deps.clock);
    this.#cooldowns = createCooldowns(deps.clock);
  }

  refresh(userId: string): Promise<RefreshResult> {
    return this.#refreshes.once(userId, () =>
      this.#refreshShared(userId).catch((error: unknown): RefreshResult => {
        this.#deps.log.warn({ user: userId, reason: errorText(error) }, "cannot refresh user");
        return UNAVAILABLE;
      }),
    );
  }

  /** Returns true if the provider of this user was unavailable a moment ago. */
  isPaused(userId: string): boolean {
    return this.#cooldowns.has(userId);
  }

  confirmed(providerUrl: string, userId: string): void {
    this.#verdicts.confirmed(providerUrl, userId);
    this.#cooldowns.end(userId);
  }

  close(): Promise<void> {
    return this.#refreshes.close();
  }

  async #refreshShared(userId: string): Promise<RefreshResult> {
    const before = await this.#users.read(userId);
    if (!before || before.value.refusedAt !== undefined) return REFUSED;
    const settled = (stored: StoredRecord<IdentityRecord> | undefined): RefreshResult | undefined => {
      if (!stored || stored.value.refusedAt !== undefined) return REFUSED;
      // Another replica was faster, and its result is as new as ours would be.
      return stored.value.confirmations !== before.value.confirmations
        ? { ok: true, user: this.#users.userOf(stored.value) }
        : undefined;
    };
    const result = await this.#refreshes.underLease({
      lease: (ttlMs) => this.#deps.store.lease(`refresh-identity:${userId}`, ttlMs),
      waits: pollsUntil(performance.now() + LONGEST_WAIT_MS),
      look: async () => settled(await this.#users.read(userId)),
      work: async () => {
        const stored = await this.#users.read(userId);
        if (!stored) return REFUSED;
        return settled(stored) ?? this.#timed(() => this.#askProvider(stored));
      },
    });
    return result ?? UNAVAILABLE;
  }

  async #timed(ask: () => Promise<RefreshResult>): Promise<RefreshResult> {
    const startedMs = performance.now();
    const result = await ask();
    const tookMs = performance.now() - startedMs;
    this.#deps.onRefresh?.({ of: "identity", result: countedAs(result), tookMs });
    return result;
  }

  /** Requires the lease. */
  async #askProvider(stored: StoredRecord<IdentityRecord>): Promise<RefreshResult> {
    const { userId } = stored.value;
    const settings = providerOf(stored.value, this.#deps.snapshots.current().settings);
    const refreshToken = this.#users.tokenSeal.open(userId, "refresh", stored.value.refreshToken);
    if (settings === undefined || refreshToken === undefined) return REFUSED;
    try {
      const used = stored.value.refreshToken;
      const waiting = this.#unsaved.get(userId);
      const tokens =
        waiting && waiting.used === used
          ? waiting.tokens
          : await this.#deps.idp.exchangeRefreshToken(settings, refreshToken);
      // Before anything else can fail: the old refresh token may be invalid from now on.
      this.#unsaved.set(userId, { used, tokens });
      const saved = await this.#save(stored, (earlier) =>
        this.#users.merge({ earlier, userId, tokens, profile: undefined }),
      );
      this.#unsaved.delete(userId);
      const { profile } = await this.#deps.idp.readUser(settings, tokens, userId);
      const confirmed = await this.#save(saved, (earlier) => {
        const before = storedFacts(earlier);
        const isWhole = profile === undefined || tokens.idClaims !== undefined;
        const facts = isWhole ? (profile ?? before) : withEarlierUnverified(profile, before);
        return this.#users.merge({ earlier, userId, tokens, profile: facts });
      });
      this.#tell.leftOut(saved.value, confirmed.value);
      this.confirmed(settings.providerUrl, userId);
      return { ok: true, user: this.#users.userOf(confirmed.value) };
    } catch (error) {
      if (errorCode(error) === "identity.ended") {
        this.#unsaved.delete(userId);
        return REFUSED;
      }
      const limitMs = this.#deps.snapshots.current().settings.unconfirmedUserSeconds * 1000;
      const verdict = this.#verdicts.failed(settings.providerUrl, userId, error, limitMs);
      if (verdict === "refused" || verdict === "unconfirmed")
        return await this.#refuse(stored, verdict, errorText(error));
      this.#cooldowns.begin(userId, this.#unsaved.has(userId) ? RETRY_SAVE_MS : RETRY_MS);
      this.#tell.failed(userId, verdict, error);
      return verdict === "outage" ? OUTAGE : UNAVAILABLE;
    }
  }

  /**
   * Keeps the tokens of a concurrent sign-in: they are newer.
   *
   * @throws GatewayError `identity.ended` if the user's access was revoked meanwhile: it must not come back
   */
  async #save(
    from: StoredRecord<IdentityRecord>,
    next: (earlier: IdentityRecord) => IdentityRecord,
  ): Promise<StoredRecord<IdentityRecord>> {
    let earlier: StoredRecord<IdentityRecord> | undefined = from;
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
      if (earlier === undefined)
        throw new GatewayError("identity.gone", "Cannot store a refreshed user: the record is gone");
      const value = next(earlier.value);
      const result = await this.#users.put(value, earlier.version);
      if (result.ok) return { ...earlier, value, version: result.version };
      earlier = await this.#users.read(from.value.userId);
      if (earlier?.value.refusedAt !== undefined)
        throw new GatewayError("identity.ended", "Cannot store a refreshed user: its access ended meanwhile");
      if (earlier && earlier.value.signIns !== from.value.signIns) return earlier;
    }
    throw new GatewayError("identity.conflict", "Cannot store a refreshed user: the record keeps changing");
  }

  async #refuse(
    stored: StoredRecord<IdentityRecord>,
    verdict: "refused" | "unconfirmed",
    reason: string,
  ): Promise<RefreshResult> {
    const { userId } = stored.value;
    const current = await this.#users.read(userId);
    // A concurrent sign-in brought a new token: only the old one was rejected.
    if (current && current.value.refusedAt === undefined && current.value.signIns !== stored.value.signIns) {
      return { ok: true, user: this.#users.userOf(current.value) };
    }
    this.#tell.ended(userId, verdict, reason);
    if (current) {
      const result = await this.#users.put(
        refusedRecord(current.value, epochSeconds(this.#deps.clock)),
        current.version,
      );
      // A concurrent write: check again whether it was a sign-in.
      if (!result.ok) return this.#refuse(stored, verdict, reason);
    }
    await this.#deps.revocations.revoke(userTag(userId));
    return verdict === "refused" ? REFUSED : UNCONFIRMED;
  }
}

function* pollsUntil(giveUpAtMs: number): Iterable<number> {
  while (performance.now() < giveUpAtMs) yield LEASE_POLL_MS;
}
