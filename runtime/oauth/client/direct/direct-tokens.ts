/**
 * Tokens that nobody connects (`id_jag`, `workload`, `client_credentials`): got when a request needs one, renewed before
 * their end, dropped when the upstream refuses them.
 *
 * Promises: one question per user and route, or per route, at a time; those of users are stored sealed and asked for once
 * across replicas, those of a route live in this process alone; after a refusal nobody is asked again for `REFUSED_MS`,
 * unless the user has signed in since; a server that is away costs nobody a token that is still good.
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
} from "../tokens/token-records.ts";
import { createRefreshTurns, pollsUntil, RETRY_MS, WAIT_MS } from "../tokens/token-refresh.ts";
import { type AskGrantDeps, createAskGrant } from "./ask-grant.ts";

export interface DirectTokensDeps extends AskGrantDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** For targets with a direct grant; see `UpstreamTokenStore` for the two. */
export interface DirectTokens {
  hold(userId: string, target: UpstreamTarget): Promise<Held>;
  replace(userId: string, target: UpstreamTarget, accessToken: string, isRefused: boolean): Promise<Held>;
  /** The upstream does not take a fresh token either. */
  giveUp(userId: string, target: UpstreamTarget, accessToken: string): Promise<void>;
  close(): Promise<void>;
}

const REFUSED_MS = 30_000;
/** Of a token whose server names no end. */
const DEFAULT_SECONDS = 300;
const CACHE_ENTRIES = 20_000;

/** Why nobody is asked. */
interface Pause extends Visited {
  readonly held: Held;
  readonly untilMs: number;
  /** Of the user, when it began. */
  readonly signIns: number;
}

interface RouteToken extends Visited {
  readonly tokens: TokenSet;
  readonly obtainedAt: number;
  readonly expiresAt: number;
}

export function createDirectTokens(deps: DirectTokensDeps): DirectTokens {
  const { store, clock, log, idJags } = deps;
  const steady = steadyClock(clock);
  const { read, put, seal, open, held, isExpired } = createUpstreamTokenRecords(deps);
  const askGrant = createAskGrant(deps);
  const refreshes = createLeasedRefreshes<Held>();
  const turns = createRefreshTurns();
  const pauses = new BoundedCache<Pause>(CACHE_ENTRIES);
  const ofRoutes = new BoundedCache<RouteToken>(CACHE_ENTRIES);

  const endOf = ({ expiresAt }: TokenSet): number => expiresAt ?? epochSeconds(clock) + DEFAULT_SECONDS;

  /** What is known without asking anybody. */
  const paused = async (key: string, userId: string, isUsers: boolean): Promise<Held | undefined> => {
    const pause = pauses.get(key);
    if (!pause || steady.now() >= pause.untilMs) return undefined;
    return !isUsers || (await idJags.signIns(userId)) === pause.signIns ? pause.held : undefined;
  };

  const pause = async (key: string, userId: string, isUsers: boolean, why: Refused | "unavailable"): Promise<Held> => {
    const isAway = why === "unavailable";
    const signIns = isUsers ? await idJags.signIns(userId) : 0;
    const result: Held = isAway ? UNAVAILABLE : { kind: "refused", why };
    const untilMs = steady.now() + (isAway ? RETRY_MS : REFUSED_MS);
    pauses.set(key, { held: result, untilMs, signIns, visited: false });
    return result;
  };

  const tellRefusal = (userId: string, target: UpstreamTarget, why: Refused | "unavailable", reason: string): void => {
    const fields = { route: target.route.key, user: userId, reason };
    if (why === "unavailable") log.warn(fields, "an upstream token cannot be obtained now");
    else if (why === "misconfigured" || why === "issuer-changed")
      log.error(fields, "an upstream token cannot be obtained as the route is set up");
    else log.info({ ...fields, why }, "an upstream token was refused to a user");
  };

  // Of users, in the store.

  const heldOf = (key: string, record: UpstreamTokenRecord): Held => {
    const now = held(key, record);
    return now.kind === "token" ? { ...now, canRefresh: true } : now;
  };

  /** Under the lease. @param stored what is to be replaced */
  const askForUser = async (
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    stored: StoredUpstreamTokens | undefined,
    isRefused: boolean,
  ): Promise<Held> => {
    const isGood = stored !== undefined && !isRefused && !isExpired(stored.value);
    const known = await paused(key, userId, true);
    if (known) return isGood ? heldOf(key, stored.value) : known;
    const granted = await askGrant(userId, target, direct);
    const owner = readUserId(userId);
    if (!granted.ok || !granted.client || owner === undefined) {
      const { why, detail } = granted.ok ? { why: "misconfigured" as const, detail: "there is no client" } : granted;
      tellRefusal(userId, target, why, detail);
      const result = await pause(key, userId, true, why);
      // Neither a server that is away nor a mistake of the operator takes away what is still good.
      if (isGood && why !== "denied" && why !== "sign-in") return heldOf(key, stored.value);
      // Who may not have another one keeps none.
      if (stored && why !== "unavailable") await store.delete(key, { ifVersion: stored.version });
      return result;
    }
    const { tokens, server, client, resource } = granted;
    const now = epochSeconds(clock);
    const expiresAt = endOf(tokens);
    const record: UpstreamTokenRecord = {
      schema: 1,
      userId: owner,
      routeKey: target.route.key,
      server,
      client,
      resource,
      tokens: seal(key, { access: tokens.accessToken }, { server, client, resource }),
      canRefresh: false,
      expiresAt,
      scopes: tokens.scopes ?? target.oauth?.scopes ?? [],
      wantedScopes: [],
      stepUps: 0,
      stepUpsFrom: now,
      obtainedAt: now,
    };
    pauses.delete(key);
    // Whoever wrote meanwhile has a token that is as new.
    if (expiresAt > now) await put(key, record, stored?.version ?? 0, expiresAt);
    return heldOf(key, record);
  };

  const replaceOfUser = async (
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> => {
    const settled = (stored: StoredUpstreamTokens | undefined): Held | undefined => {
      if (!stored || isExpired(stored.value)) return undefined;
      const access = open(key, stored.value)?.access;
      return access === undefined || access === accessToken ? undefined : heldOf(key, stored.value);
    };
    const result = await refreshes.underLease({
      lease: (ttlMs) => store.lease(`refresh-${key}`, ttlMs),
      waits: pollsUntil(performance.now() + WAIT_MS),
      look: async () => settled(await read(key)),
      work: async () => {
        const stored = await read(key);
        return settled(stored) ?? askForUser(key, userId, target, direct, stored, isRefused);
      },
    });
    return result ?? UNAVAILABLE;
  };

  // Of routes, in this process.

  const heldOfRoute = ({ tokens, expiresAt, obtainedAt }: RouteToken): Held => {
    return { kind: "token", accessToken: tokens.accessToken, expiresAt, obtainedAt, canRefresh: true };
  };

  const knownOfRoute = (key: string): RouteToken | undefined => {
    const known = ofRoutes.get(key);
    return known && known.expiresAt > epochSeconds(clock) ? known : undefined;
  };

  const replaceOfRoute = async (
    key: string,
    userId: string,
    target: UpstreamTarget,
    direct: DirectGrant,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> => {
    const known = knownOfRoute(key);
    if (known && known.tokens.accessToken !== accessToken) return heldOfRoute(known);
    const wait = await paused(key, userId, false);
    const granted = wait ? undefined : await askGrant(userId, target, direct);
    if (granted?.ok === true) {
      const now = epochSeconds(clock);
      const { tokens } = granted;
      const token: RouteToken = { tokens, obtainedAt: now, expiresAt: endOf(tokens), visited: false };
      pauses.delete(key);
      ofRoutes.set(key, token);
      return heldOfRoute(token);
    }
    if (granted) tellRefusal(userId, target, granted.why, granted.detail);
    const result = granted ? await pause(key, userId, false, granted.why) : (wait ?? UNAVAILABLE);
    // Neither a server that is away nor a mistake of the operator takes away what is still good.
    // Nor does a request that the upstream refuses whatever its token: the token is of all users of the route.
    return known && !isRefused ? heldOfRoute(known) : result;
  };

  const isOfUser = (direct: DirectGrant): boolean => direct.kind === "id_jag";
  const keyOf = (userId: string, target: UpstreamTarget, direct: DirectGrant): string =>
    upstreamTokenKey(isOfUser(direct) ? userId : "", target);

  const replace: DirectTokens["replace"] = (userId, target, accessToken, isRefused) => {
    const { direct } = target;
    if (!direct) throw new TypeError("a direct grant is expected");
    const key = keyOf(userId, target, direct);
    const replaceOne = isOfUser(direct) ? replaceOfUser : replaceOfRoute;
    return refreshes.once(key, () =>
      turns
        .take(target, () => replaceOne(key, userId, target, direct, accessToken, isRefused))
        .catch((error: unknown): Held => {
          tellRefusal(userId, target, "unavailable", errorText(error));
          return UNAVAILABLE;
        }),
    );
  };

  return {
    replace,
    async hold(userId, target) {
      const { direct } = target;
      if (!direct) throw new TypeError("a direct grant is expected");
      const key = keyOf(userId, target, direct);
      if (!isOfUser(direct)) {
        const known = knownOfRoute(key);
        return known ? heldOfRoute(known) : replace(userId, target, "", false);
      }
      const stored = await read(key);
      const now = stored && !isExpired(stored.value) ? heldOf(key, stored.value) : undefined;
      return now?.kind === "token" ? now : replace(userId, target, "", false);
    },
    async giveUp(userId, target, accessToken) {
      const { direct } = target;
      if (!direct) return;
      const key = keyOf(userId, target, direct);
      tellRefusal(userId, target, "misconfigured", "the upstream refuses a fresh token");
      await pause(key, userId, isOfUser(direct), "misconfigured");
      // Only no other one is requested for a while: what one request got is no fact about the others.
      if (!isOfUser(direct)) return;
      const stored = await read(key);
      if (stored && open(key, stored.value)?.access === accessToken)
        await store.delete(key, { ifVersion: stored.version });
    },
    close: () => refreshes.close(),
  };
}
