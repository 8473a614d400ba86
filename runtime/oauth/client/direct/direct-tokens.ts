/**
 * Tokens that need no user connection (`id_jag`, `workload`, `client_credentials`): requested on demand, renewed before
 * they expire, dropped if the upstream rejects them.
 *
 * Promises: one request per user and route, or per route, at a time. Users' tokens are stored sealed and shared by the
 * replicas; a route's token stays in this process. After a rejection there is no request for `REFUSED_MS`, unless the
 * user has signed in since. An unreachable server never invalidates a valid token.
 */
import type { DirectGrant } from "../../../features/mcp/compiled.ts";
import { errorText } from "../../../shared/errors.ts";
import { epochSeconds, steadyClock, type Clock } from "../../../shared/clock.ts";
import { BoundedCache, type Visited } from "../../../shared/cache.ts";
import type { Keys } from "../../../shared/keys.ts";
import { createLeasedRefreshes } from "../../../shared/leased-refresh.ts";
import type { Log } from "../../../shared/log.ts";
import { readUserId } from "../../../shared/user-id.ts";
import type { Store } from "../../../store/store.ts";
import { upstreamTokenKey, type UpstreamTokenRecord } from "../connection-records.ts";
import type { TokenSet } from "../connect/token-endpoint.ts";
import type { UpstreamTarget } from "../target.ts";
import {
  createUpstreamTokenRecords,
  UNAVAILABLE,
  type Held,
  type Refused,
  type StoredUpstreamTokens,
  type UpstreamTokenRecords,
} from "../tokens/token-records.ts";
import { createRefreshTurns, pollsUntil, RETRY_MS, WAIT_MS } from "../tokens/token-refresh.ts";
import { type AskGrant, type AskGrantDeps, createAskGrant } from "./ask-grant.ts";

export interface DirectTokensDeps extends AskGrantDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

const REFUSED_MS = 30_000;
/** Lifetime of a token without a stated expiry. */
const DEFAULT_SECONDS = 300;
const CACHE_ENTRIES = 20_000;

/** Pause between requests, with its reason. */
interface Pause extends Visited {
  readonly held: Held;
  readonly untilMs: number;
  /** The user's number of sign-ins at the start of the pause. */
  readonly signIns: number;
}

interface RouteToken extends Visited {
  readonly tokens: TokenSet;
  readonly obtainedAt: number;
  readonly expiresAt: number;
}

/** For targets with a direct grant. See `UpstreamTokenStore` for `hold` and `replace`. */
export class DirectTokens {
  readonly #deps: DirectTokensDeps;
  readonly #steady: Clock;
  readonly #records: UpstreamTokenRecords;
  readonly #askGrant: AskGrant;
  readonly #refreshes = createLeasedRefreshes<Held>();
  readonly #turns = createRefreshTurns();
  readonly #pauses = new BoundedCache<Pause>(CACHE_ENTRIES);
  readonly #ofRoutes = new BoundedCache<RouteToken>(CACHE_ENTRIES);

  constructor(deps: DirectTokensDeps) {
    this.#deps = deps;
    this.#steady = steadyClock(deps.clock);
    this.#records = createUpstreamTokenRecords(deps);
    this.#askGrant = createAskGrant(deps);
  }

  replace(userId: string, target: UpstreamTarget, accessToken: string, isRefused: boolean): Promise<Held> {
    const { direct } = target;
    if (!direct) throw new TypeError("a direct grant is expected");
    const key = keyOf(userId, target, direct);
    const replaceOne = (): Promise<Held> =>
      isOfUser(direct)
        ? this.#replaceOfUser(key, userId, target, direct, accessToken, isRefused)
        : this.#replaceOfRoute(key, userId, target, direct, accessToken, isRefused);
    return this.#refreshes.once(key, () =>
      this.#turns.take(target, replaceOne).catch((error: unknown): Held => {
        this.#logRejection(userId, target, "unavailable", errorText(error));
        return UNAVAILABLE;
      }),
    );
  }

  async hold(userId: string, target: UpstreamTarget): Promise<Held> {
    const { direct } = target;
    if (!direct) throw new TypeError("a direct grant is expected");
    const key = keyOf(userId, target, direct);
    if (!isOfUser(direct)) {
      const known = this.#knownOfRoute(key);
      return known ? heldOfRoute(known) : this.replace(userId, target, "", false);
    }
    const stored = await this.#records.read(key);
    const now = stored && !this.#records.isExpired(stored.value) ? this.#heldOf(key, stored.value) : undefined;
    return now?.kind === "token" ? now : this.replace(userId, target, "", false);
  }

  /** Call if the upstream rejects a fresh token as well. */
  async giveUp(userId: string, target: UpstreamTarget, accessToken: string): Promise<void> {
    const { direct } = target;
    if (!direct) return;
    const key = keyOf(userId, target, direct);
    this.#logRejection(userId, target, "misconfigured", "the upstream refuses a fresh token");
    await this.#pause(key, userId, isOfUser(direct), "misconfigured");
    // A route's token stays, but no other is requested for a while: one rejected request says nothing about the others.
    if (!isOfUser(direct)) return;
    const stored = await this.#records.read(key);
    if (stored && this.#records.open(key, stored.value)?.access === accessToken)
      await this.#deps.store.delete(key, { ifVersion: stored.version });
  }

  close(): Promise<void> {
    return this.#refreshes.close();
  }

  /** Result of a pause, without a request. */
  async #paused(key: string, userId: string, isUsers: boolean): Promise<Held | undefined> {
    const known = this.#pauses.get(key);
    if (!known || this.#steady.now() >= known.untilMs) return undefined;
    return !isUsers || (await this.#deps.idJags.signIns(userId)) === known.signIns ? known.held : undefined;
  }

  async #pause(key: string, userId: string, isUsers: boolean, why: Refused | "unavailable"): Promise<Held> {
    const isAway = why === "unavailable";
    const signIns = isUsers ? await this.#deps.idJags.signIns(userId) : 0;
    const result: Held = isAway ? UNAVAILABLE : { kind: "refused", why };
    const untilMs = this.#steady.now() + (isAway ? RETRY_MS : REFUSED_MS);
    this.#pauses.set(key, { held: result, untilMs, signIns, visited: false });
    return result;
  }

  #logRejection(userId: string, target: UpstreamTarget, why: Refused | "unavailable", reason: string): void {
    const fields = { route: target.route.key, user: userId, reason };
    if (why === "unavailable") this.#deps.log.warn(fields, "cannot obtain upstream token, server unavailable");
    else if (why === "misconfigured" || why === "issuer-changed")
      this.#deps.log.error(fields, "cannot obtain upstream token, route settings rejected");
    else this.#deps.log.info({ ...fields, why }, "upstream token denied to user");
  }

  #heldOf(key: string, record: UpstreamTokenRecord): Held {
    const now = this.#records.held(key, record);
    return now.kind === "token" ? { ...now, canRefresh: true } : now;
  }

  /** Requires the lease. @param stored record to replace */
  async #askForUser(
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    stored: StoredUpstreamTokens | undefined,
    isRefused: boolean,
  ): Promise<Held> {
    const isUsable = stored !== undefined && !isRefused && !this.#records.isExpired(stored.value);
    const known = await this.#paused(key, userId, true);
    if (known) return isUsable ? this.#heldOf(key, stored.value) : known;
    const granted = await this.#askGrant(userId, target, direct);
    const owner = readUserId(userId);
    if (!granted.ok || !granted.client || owner === undefined) {
      const { why, detail } = granted.ok ? { why: "misconfigured" as const, detail: "there is no client" } : granted;
      this.#logRejection(userId, target, why, detail);
      const result = await this.#pause(key, userId, true, why);
      // An unreachable server or an operator's mistake does not invalidate a valid token.
      if (isUsable && why !== "denied" && why !== "sign-in") return this.#heldOf(key, stored.value);
      // A user who cannot get a new token loses the old one.
      if (stored && why !== "unavailable") await this.#deps.store.delete(key, { ifVersion: stored.version });
      return result;
    }
    const { tokens, server, client, resource } = granted;
    const now = epochSeconds(this.#deps.clock);
    const expiresAt = this.#endOf(tokens);
    const record: UpstreamTokenRecord = {
      schema: 1,
      userId: owner,
      routeKey: target.route.key,
      server,
      client,
      resource,
      tokens: this.#records.seal(key, { access: tokens.accessToken }, { server, client, resource }),
      canRefresh: false,
      expiresAt,
      scopes: tokens.scopes ?? target.oauth?.scopes ?? [],
      wantedScopes: [],
      stepUps: 0,
      stepUpsFrom: now,
      obtainedAt: now,
    };
    this.#pauses.delete(key);
    // A concurrent request stored a token that is as new.
    if (expiresAt > now) await this.#records.put(key, record, stored?.version ?? 0, expiresAt);
    return this.#heldOf(key, record);
  }

  async #replaceOfUser(
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> {
    const settled = (stored: StoredUpstreamTokens | undefined): Held | undefined => {
      if (!stored || this.#records.isExpired(stored.value)) return undefined;
      const access = this.#records.open(key, stored.value)?.access;
      return access === undefined || access === accessToken ? undefined : this.#heldOf(key, stored.value);
    };
    const result = await this.#refreshes.underLease({
      lease: (ttlMs) => this.#deps.store.lease(`refresh-${key}`, ttlMs),
      waits: pollsUntil(performance.now() + WAIT_MS),
      look: async () => settled(await this.#records.read(key)),
      work: async () => {
        const stored = await this.#records.read(key);
        return settled(stored) ?? this.#askForUser(key, userId, target, direct, stored, isRefused);
      },
    });
    return result ?? UNAVAILABLE;
  }

  #knownOfRoute(key: string): RouteToken | undefined {
    const known = this.#ofRoutes.get(key);
    return known && known.expiresAt > epochSeconds(this.#deps.clock) ? known : undefined;
  }

  async #replaceOfRoute(
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> {
    const known = this.#knownOfRoute(key);
    if (known && known.tokens.accessToken !== accessToken) return heldOfRoute(known);
    const wait = await this.#paused(key, userId, false);
    const granted = wait ? undefined : await this.#askGrant(userId, target, direct);
    if (granted?.ok === true) {
      const now = epochSeconds(this.#deps.clock);
      const { tokens } = granted;
      const token: RouteToken = { tokens, obtainedAt: now, expiresAt: this.#endOf(tokens), visited: false };
      this.#pauses.delete(key);
      this.#ofRoutes.set(key, token);
      return heldOfRoute(token);
    }
    if (granted) this.#logRejection(userId, target, granted.why, granted.detail);
    const result = granted ? await this.#pause(key, userId, false, granted.why) : (wait ?? UNAVAILABLE);
    // An unreachable server or an operator's mistake does not invalidate a valid token. Nor does a request that the
    // upstream rejects regardless of its token, since all users of the route share the token.
    return known && !isRefused ? heldOfRoute(known) : result;
  }

  #endOf({ expiresAt }: TokenSet): number {
    return expiresAt ?? epochSeconds(this.#deps.clock) + DEFAULT_SECONDS;
  }
}

function heldOfRoute({ tokens, expiresAt, obtainedAt }: RouteToken): Held {
  return { kind: "token", accessToken: tokens.accessToken, expiresAt, obtainedAt, canRefresh: true };
}

function isOfUser(direct: DirectGrant): boolean {
  return direct.kind === "id_jag";
}

function keyOf(userId: string, target: UpstreamTarget, direct: DirectGrant): string {
  return upstreamTokenKey(isOfUser(direct) ? userId : "", target);
}
