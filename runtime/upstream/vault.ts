/**
 * The Internal Tokens: one per user, route, upstream and configured client (D17).
 *
 * Promises: one refresh per connection at a time, in this process and across replicas; what the server answered is stored
 * before anybody uses it; a server that cannot be asked costs nobody a token; a refusal ends the connection once. The
 * secret of the client is read anew for each request. When the answer of a rotating server was lost, the old refresh token
 * is tried once more, and its refusal ends the connection.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { Snapshots } from "../config/compiled.ts";
import { errorText, GatewayError } from "../errors.ts";
import type { SafeFetch } from "../http/safe-fetch.ts";
import type { Keys } from "../keys.ts";
import type { Log } from "../log.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import type { ClientChooser } from "./client-choice.ts";
import { VAULT_SECONDS, vaultKey, vaultTag, type FlowRecord, type VaultRecord } from "./records.ts";
import { joinScopes } from "./scopes.ts";
import type { UpstreamTarget } from "./target.ts";
import { exchangeRefreshToken, revokeToken, type Asking, type TokenSet } from "./token-endpoint.ts";
import { createTurns } from "./turns.ts";

export interface VaultDeps {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly keys: Keys;
  readonly clients: ClientChooser;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
}

/** A token that may be sent, or why there is none. */
export type Held =
  | {
      readonly kind: "token";
      readonly accessToken: string;
      /** Epoch seconds; absent = no end known. */
      readonly expiresAt?: number;
      /** Epoch seconds. */
      readonly obtainedAt: number;
      readonly canRefresh: boolean;
    }
  /** The user has not connected, or has to connect again. */
  | { readonly kind: "none" }
  /** The server cannot be asked now, and what we have has expired. */
  | { readonly kind: "unavailable" };

export type StepUp = "connect" | "exhausted";

export interface Vault {
  /** The token as it stands, refreshed first when it has expired. @throws GatewayError `store.unavailable` */
  hold(userId: string, target: UpstreamTarget): Promise<Held>;
  /**
   * A token in place of this one: refreshed now, unless somebody did so already.
   *
   * @param isRefused the upstream would not take it, so it is no answer
   */
  replace(userId: string, target: UpstreamTarget, accessToken: string, isRefused: boolean): Promise<Held>;
  find(userId: string, target: UpstreamTarget): Promise<VaultRecord | undefined>;
  /** Stores what a completed flow brought. */
  keep(flow: FlowRecord, target: UpstreamTarget, tokens: TokenSet): Promise<void>;
  /** The user has to connect again. */
  end(userId: string, target: UpstreamTarget, why: "refused" | "expired", accessToken?: string): Promise<void>;
  /** The upstream wants more scope. `exhausted`: it has asked too often, another flow would not help. */
  wantScopes(userId: string, target: UpstreamTarget, scopes: readonly string[]): Promise<StepUp>;
  /** Forgets the tokens here first, then revokes them at the server. @returns whether there were any */
  disconnect(userId: string, target: UpstreamTarget): Promise<boolean>;
  close(): Promise<void>;
}

/** Longer than a server may take to answer, so that a lease is lost only with its holder. */
const LEASE_MS = 30_000;
const LEASE_POLL_MS = 50;
const MAX_POLL_MS = 500;
/** Refreshes of one process at once: a thousand connections that end in one second must not time each other out. */
const AT_ONCE = 32;
/** A caller waits no longer for another holder. */
const WAIT_MS = 15_000;
/** Between two attempts while the server is away. */
const RETRY_MS = 2_000;
const MAX_CONFLICTS = 5;
/** MCP authorization, "Scope Challenge Handling": clients SHOULD limit retries. With the first flow these are three. */
const MAX_STEP_UPS = 2;
const STEP_UP_SECONDS = 3600;

interface Tokens {
  readonly access: string;
  readonly refresh?: string;
}

type Stored = StoredRecord<VaultRecord>;

export function createVault(deps: VaultDeps): Vault {
  const { store, clock, log } = deps;
  const sealer = deps.keys.sealer("vault");
  const refreshing = new Map<string, Promise<Held>>();
  /** Record key → epoch milliseconds before which an absent server is not asked again. */
  const retryAt = new Map<string, number>();
  /** Fresh tokens that the store did not take: lost with the process, but not before. */
  const unsaved = new Map<string, { readonly stored: Stored; readonly next: VaultRecord }>();
  const turns = createTurns(AT_ONCE);
  const closing = new AbortController();

  const read = (key: string): Promise<Stored | undefined> => store.get<VaultRecord>(key);

  const open = (key: string, record: VaultRecord): Tokens | undefined => {
    const bytes = record.tokens === undefined ? undefined : sealer.open(record.tokens, key);
    return bytes && (JSON.parse(bytes.toString()) as Tokens);
  };

  const put = (key: string, record: VaultRecord, ifVersion?: number) =>
    store.put(key, record, {
      ...(ifVersion === undefined ? {} : { ifVersion }),
      expiresAt: epochSeconds(clock) + VAULT_SECONDS,
      tags: [vaultTag(record.userId)],
    });

  const held = (key: string, record: VaultRecord): Held => {
    const tokens = record.ended === undefined ? open(key, record) : undefined;
    if (!tokens) return NONE;
    return {
      kind: "token",
      accessToken: tokens.access,
      ...(record.expiresAt === undefined ? {} : { expiresAt: record.expiresAt }),
      obtainedAt: record.obtainedAt,
      canRefresh: record.canRefresh,
    };
  };

  const isExpired = (record: VaultRecord): boolean =>
    record.expiresAt !== undefined && record.expiresAt <= epochSeconds(clock);

  const asking = async (target: UpstreamTarget, record: VaultRecord): Promise<Asking> => ({
    server: record.server,
    client: record.client,
    clientSecret: await deps.clients.secretOf(record.client, currentRoute(target)),
    resource: record.resource,
    upstreamUrl: target.url,
    settings: deps.snapshots.current().settings,
  });

  /** The route as the configuration in force has it: its secret may have changed since this request came in. */
  const currentRoute = (target: UpstreamTarget) =>
    deps.snapshots.current().routes.find(({ key }) => key === target.route.key) ?? target.route;

  /** Under the lease. */
  const askServer = async (key: string, target: UpstreamTarget, stored: Stored, tokens: Tokens): Promise<Held> => {
    const record = stored.value;
    const result = await exchangeRefreshToken(deps, await asking(target, record), tokens.refresh ?? "");
    if (result.ok) {
      const { accessToken, refreshToken, expiresAt, scopes } = result.tokens;
      // "The authorization server MAY issue a new refresh token": without one the old one stays good (RFC 6749 §6).
      const refresh = refreshToken ?? tokens.refresh;
      const { expiresAt: _old, ...rest } = record;
      const next: VaultRecord = {
        ...rest,
        tokens: seal(key, { access: accessToken, ...(refresh === undefined ? {} : { refresh }) }),
        canRefresh: refresh !== undefined,
        ...(expiresAt === undefined ? {} : { expiresAt }),
        scopes: scopes ?? record.scopes,
        obtainedAt: epochSeconds(clock),
      };
      // Before anybody uses it: the old one may be dead from here on. If the store is away, it is tried again.
      unsaved.set(key, { stored, next });
      const saved = await saveRefreshed(key, stored, next);
      unsaved.delete(key);
      retryAt.delete(key);
      return saved;
    }
    if (result.failure === "unavailable" || (result.failure === "client-refused" && record.client.kind === "route")) {
      // A wrong secret is the operator's to correct; it must not cost every user the connection.
      const level = result.failure === "unavailable" ? "warn" : "error";
      log[level]({ route: record.routeKey, reason: result.detail }, "an upstream token cannot be refreshed now");
      retryAt.set(key, clock.now() + RETRY_MS);
      return isExpired(record) ? UNAVAILABLE : held(key, record);
    }
    if (result.failure === "client-refused") await deps.clients.forget(record.client);
    log.info({ route: record.routeKey, user: record.userId, reason: result.detail }, "an upstream connection ended");
    await endRecord(key, stored, "refused");
    return NONE;
  };

  /** Leaves what a flow wrote meanwhile: its tokens are newer. */
  const saveRefreshed = async (key: string, stored: Stored, next: VaultRecord): Promise<Held> => {
    let version = stored.version;
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
      if ((await put(key, next, version)).ok) return held(key, next);
      const current = await read(key);
      // Disconnected meanwhile: the fresh tokens are nobody's.
      if (!current) return NONE;
      if (current.value.tokens !== stored.value.tokens) return held(key, current.value);
      // Only notes about scopes have changed.
      next = { ...next, wantedScopes: current.value.wantedScopes, stepUps: current.value.stepUps };
      version = current.version;
    }
    throw new GatewayError("vault.conflict", "Cannot store a refreshed upstream token: the record keeps changing");
  };

  const endRecord = async (key: string, stored: Stored, why: NonNullable<VaultRecord["ended"]>): Promise<void> => {
    const { tokens: _gone, expiresAt: _at, ...rest } = stored.value;
    await put(key, { ...rest, canRefresh: false, ended: why }, stored.version);
  };

  const replaceShared = async (
    key: string,
    target: UpstreamTarget,
    accessToken: string,
    isRefused: boolean,
  ): Promise<Held> => {
    const settled = (stored: Stored | undefined): Held | undefined => {
      if (!stored || stored.value.ended !== undefined) return NONE;
      const tokens = open(key, stored.value);
      if (!tokens) return NONE;
      // Somebody was faster: their answer is as new as ours would be.
      return tokens.access !== accessToken && !isExpired(stored.value) ? held(key, stored.value) : undefined;
    };
    const giveUpAt = performance.now() + WAIT_MS;
    for (let pollMs = LEASE_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
      const lease = await store.lease(`refresh-${key}`, LEASE_MS);
      if (lease) {
        try {
          const stored = await read(key);
          const done = settled(stored);
          if (done || !stored) return done ?? NONE;
          const waiting = unsaved.get(key);
          if (waiting && waiting.stored.value.tokens === stored.value.tokens) {
            const saved = await saveRefreshed(key, stored, waiting.next);
            unsaved.delete(key);
            return saved;
          }
          unsaved.delete(key);
          const tokens = open(key, stored.value);
          if (tokens?.refresh === undefined) {
            if (!isRefused && !isExpired(stored.value)) return held(key, stored.value);
            await endRecord(key, stored, isRefused ? "refused" : "expired");
            return NONE;
          }
          if (clock.now() < (retryAt.get(key) ?? 0)) {
            return isExpired(stored.value) || isRefused ? UNAVAILABLE : held(key, stored.value);
          }
          return await askServer(key, target, stored, tokens);
        } finally {
          // It ends by itself.
          await lease.release().catch(() => {});
        }
      }
      if (performance.now() >= giveUpAt || closing.signal.aborted) return UNAVAILABLE;
      await delay(pollMs, undefined, { signal: closing.signal });
      const done = settled(await read(key));
      if (done) return done;
    }
  };

  const replace: Vault["replace"] = (userId, target, accessToken, isRefused) => {
    const key = vaultKey(userId, target);
    let running = refreshing.get(key);
    if (!running) {
      running = turns
        .take(() => replaceShared(key, target, accessToken, isRefused))
        .catch((error: unknown): Held => {
          log.warn({ route: target.route.key, reason: errorText(error) }, "an upstream token cannot be refreshed now");
          return UNAVAILABLE;
        })
        .finally(() => refreshing.delete(key));
      refreshing.set(key, running);
    }
    return running;
  };

  function seal(key: string, tokens: Tokens): string {
    return sealer.seal(JSON.stringify(tokens), key);
  }

  return {
    replace,
    async find(userId, target) {
      return (await read(vaultKey(userId, target)))?.value;
    },
    async hold(userId, target) {
      const key = vaultKey(userId, target);
      const stored = await read(key);
      if (!stored) return NONE;
      const now = held(key, stored.value);
      return now.kind === "token" && isExpired(stored.value) ? replace(userId, target, now.accessToken, false) : now;
    },
    async keep(flow, target, tokens) {
      const key = vaultKey(flow.userId, target);
      const { accessToken, refreshToken, expiresAt, scopes } = tokens;
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const earlier = await read(key);
        const record: VaultRecord = {
          schema: 1,
          userId: flow.userId,
          routeKey: flow.routeKey,
          server: flow.server,
          client: flow.client,
          resource: flow.resource,
          tokens: seal(key, { access: accessToken, ...(refreshToken === undefined ? {} : { refresh: refreshToken }) }),
          canRefresh: refreshToken !== undefined,
          ...(expiresAt === undefined ? {} : { expiresAt }),
          scopes: scopes ?? flow.scopes,
          // The user has been asked for them just now, whatever came of it.
          wantedScopes: [],
          stepUps: earlier?.value.stepUps ?? 0,
          stepUpsFrom: earlier?.value.stepUpsFrom ?? epochSeconds(clock),
          obtainedAt: epochSeconds(clock),
        };
        if ((await put(key, record, earlier?.version ?? 0)).ok) {
          retryAt.delete(key);
          return;
        }
      }
      throw new GatewayError("vault.conflict", "Cannot store an upstream token: the record keeps changing");
    },
    async end(userId, target, why, accessToken) {
      const key = vaultKey(userId, target);
      const stored = await read(key);
      if (!stored || stored.value.ended !== undefined) return;
      // A newer token than the one in question is not touched.
      if (accessToken !== undefined && open(key, stored.value)?.access !== accessToken) return;
      await endRecord(key, stored, why);
    },
    async wantScopes(userId, target, scopes) {
      const key = vaultKey(userId, target);
      // Without a name for what is missing, asking again would bring the same token.
      if (scopes.length === 0) return "exhausted";
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await read(key);
        if (!stored) return "connect";
        const record = stored.value;
        const now = epochSeconds(clock);
        const isNewRound = record.stepUpsFrom + STEP_UP_SECONDS <= now;
        const stepUps = isNewRound ? 0 : record.stepUps;
        if (stepUps >= MAX_STEP_UPS) return "exhausted";
        // The token stays: what it may do it still may. Only the next flow asks for more.
        const next: VaultRecord = {
          ...record,
          wantedScopes: joinScopes(record.wantedScopes, scopes),
          stepUps: stepUps + 1,
          stepUpsFrom: isNewRound ? now : record.stepUpsFrom,
        };
        if ((await put(key, next, stored.version)).ok) return "connect";
      }
      return "exhausted";
    },
    async disconnect(userId, target) {
      const key = vaultKey(userId, target);
      const taken = await store.take<VaultRecord>(key);
      const tokens = taken && open(key, taken.value);
      if (!taken || !tokens) return taken !== undefined;
      const asks = await asking(target, taken.value);
      const refreshRevoked =
        tokens.refresh !== undefined &&
        (await revokeToken(deps, asks, { value: tokens.refresh, hint: "refresh_token" }));
      const accessRevoked = await revokeToken(deps, asks, { value: tokens.access, hint: "access_token" });
      log.info(
        { route: target.route.key, user: userId, revoked: refreshRevoked || accessRevoked },
        "an upstream connection was ended by its user",
      );
      return true;
    },
    async close() {
      closing.abort();
      await Promise.allSettled(refreshing.values());
    },
  };
}

const NONE: Held = { kind: "none" };
const UNAVAILABLE: Held = { kind: "unavailable" };
