/**
 * Finds out whether the upstream of a route requires a token from its users (D19), and records which users were asked
 * to connect it.
 *
 * Untrusted input: every response of the upstream. Promises: a single response is never stored as a fact about all
 * users. Stored facts have a proof (see `NeedRecord`) and expire. They are deleted when contradicted: by a response
 * without a token if only a challenge was known, or by a failed discovery. A user must connect before a refresh only if
 * a request of this user was rejected.
 */
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { matchesDomain } from "../../settings/domains.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, steadyClock, within, type Clock } from "../../shared/clock.ts";
import type { Store } from "../../store/store.ts";
import { METADATA_BYTES, type SafeRefusal } from "../../http/fetch/safe-fetch.ts";
import {
  challengeOf,
  readChallenge,
  type ChallengeAnswer,
  type ChallengeReading,
} from "./discovery/bearer-challenge.ts";
import {
  discover,
  findProtectedResource,
  type DiscoverDeps,
  type Discovered,
  type DiscoverResult,
} from "./discovery/discover.ts";
import {
  needKey,
  SENT_SECONDS,
  sentKey,
  upstreamRouteTag,
  upstreamTokenTag,
  type SentRecord,
} from "./connection-records.ts";
import type { BoundIssuers } from "./discovery/bound-issuer.ts";
import { KnownNeeds } from "./known-needs.ts";
import { findTarget, type UpstreamTarget } from "./target.ts";

export interface NeedDeps extends DiscoverDeps {
  readonly issuers: BoundIssuers;
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum wait of `look`. */
  readonly lookMs?: number | undefined;
}

/** "unanswered": unknown, since the server did not respond. */
export type Need = "needed" | "not-needed" | "unanswered";

export interface NeedOptions {
  /** Accept the fixed endpoints of old servers. Absent: only if the upstream responds with a challenge. */
  readonly isChallenged?: boolean;
  /** Grant type that the authorization server must support. Default: codes. */
  readonly grantType?: string;
}

export type ServerFound = DiscoverResult<Discovered & { readonly challengedScope: string | undefined }>;

/** Whether a sign-in can change a 401. */
export type Confirmation = "confirmed" | "refuted" | "unavailable";

export interface Needs {
  /** Returns the known need, or probes the server once, for at most six seconds. Several servers are probed in parallel. */
  look(target: UpstreamTarget): Promise<Need>;
  /** Finds the authorization server with the upstream's current challenge. Stores what that proves. */
  discover(target: UpstreamTarget, options: NeedOptions): Promise<ServerFound>;
  /** Call after the upstream rejected a request without a token. */
  confirm(target: UpstreamTarget, reading: ChallengeReading): Promise<Confirmation>;
  /** Call after the upstream accepted a request without a token. */
  passed(route: CompiledRoute): void;
  /** Records that this user's request was rejected and the user is asked to connect. */
  send(userId: string, target: UpstreamTarget, scope: string | undefined): Promise<void>;
  /** Returns the record of `send` until it expires. */
  wasSent(userId: string, target: UpstreamTarget): Promise<SentRecord | undefined>;
}

/** A server on a busy host takes seconds for its first response, and may name others to query. */
const [PROBE_MS, LOOK_MS] = [5_000, 6_000];
const SILENT: ReadonlySet<SafeRefusal> = new Set(["unreachable", "timeout", "unresolved"]);
/** Pause after a probe without a response. */
const PROBE_AGAIN_MS = 60_000;
/**
 * Cache time for the result of a 401 with the same content: a server that rejects all requests must not cause a
 * discovery each time.
 */
const EVALUATED_MS = 10_000;
/** Unreadable metadata may be available shortly. */
const UNREAD_MS = 1_000;
/** Maximum different 401s evaluated per server at a time. One without a challenge must not suppress one that names metadata. */
const MAX_EVALUATED = 4;

interface Evaluated {
  readonly outcome: Promise<Confirmation>;
  untilMs: number;
}

export function createNeeds(deps: NeedDeps): Needs {
  const { store, clock, lookMs = LOOK_MS } = deps;
  const steady = steadyClock(clock);
  const needs = new KnownNeeds(deps);
  // By target: a new configuration has new targets and starts empty.
  const probing = new WeakMap<UpstreamTarget, Promise<Need>>();
  const probed = new WeakMap<UpstreamTarget, { readonly need: Need; readonly untilMs: number }>();
  const noteProbed = (target: UpstreamTarget, need: Need): Need => {
    probed.set(target, { need, untilMs: steady.now() + PROBE_AGAIN_MS });
    return need;
  };
  const probe = async (target: UpstreamTarget, settings: LiveSettings): Promise<Need> => {
    const [answer, metadata] = await Promise.all([
      askForChallenge(deps, target, settings),
      // At most two documents.
      findProtectedResource(deps, target, settings, undefined, PROBE_MS / 2),
    ]);
    const challenge = challengeOf(answer);
    if (metadata.ok || challenge) {
      if (metadata.ok && !challenge) await needs.keep(target, { needed: true, challenged: false, proof: "metadata" });
      const isRefuted = challenge && (await confirm(target, { kind: "bearer", challenge })) !== "confirmed";
      return isRefuted === true ? "not-needed" : "needed";
    }
    if (metadata.failure === "not-found" || metadata.failure === "not-allowed") {
      await needs.keep(target, { needed: false, challenged: false });
      return "not-needed";
    }
    // No response and unusable documents prove nothing. Nothing is stored, and the next probe is delayed.
    return noteProbed(target, answer === "silent" ? "unanswered" : "not-needed");
  };

  const confirmByAsking = async (target: UpstreamTarget, reading: ChallengeReading): Promise<Confirmation> => {
    const { settings } = deps.snapshots.current();
    const challenge = reading.kind === "bearer" ? reading.challenge : undefined;
    const resourceMetadata = challenge?.resourceMetadata;
    const found = await discover(deps, target, settings, { resourceMetadata, isChallenged: false });
    if (found.ok) {
      const named = resourceMetadata === undefined ? {} : { resourceMetadata };
      await needs.tryKeep(target, needs.keep(target, { needed: true, challenged: true, proof: "metadata", ...named }));
      return "confirmed";
    }
    if (found.failure === "unavailable") return "unavailable";
    // A server without any metadata may have the fixed endpoints of MCP 2025-03-26, if it challenges a second request.
    if (found.failure === "not-found" && challenge && challengeOf(await askForChallenge(deps, target, settings))) {
      await needs.tryKeep(target, needs.keep(target, { needed: true, challenged: true, proof: "challenge" }));
      return "confirmed";
    }
    return "refuted";
  };

  const evaluate = createEvaluator(steady, confirmByAsking);
  const confirm: Needs["confirm"] = async (target, reading) => {
    const named = reading.kind === "bearer" ? reading.challenge.resourceMetadata : undefined;
    const known = await needs.find(target);
    if (known?.needed === true && (named === undefined || named === known.resourceMetadata)) return "confirmed";
    const outcome = await evaluate(target, reading, known?.needed === true);
    // A single odd challenge does not disprove a proven need either.
    return known?.needed === true ? "confirmed" : outcome;
  };

  return {
    confirm,
    async look(target) {
      // The operator configured a client, so a token is required.
      if (target.mode !== "discovery") return "needed";
      const known = await needs.find(target);
      if (known) return known.needed ? "needed" : "not-needed";
      const { settings } = deps.snapshots.current();
      if (!matchesDomain(settings.mcpAllowedAsMetadataDomains, target.hostname)) return "not-needed";
      const before = probed.get(target);
      if (before && steady.now() < before.untilMs) return before.need;
      let running = probing.get(target);
      if (!running) {
        running = probe(target, settings).finally(() => probing.delete(target));
        probing.set(target, running);
      }
      // A later result is stored, and takes precedence.
      return within(lookMs, running, () => noteProbed(target, "unanswered"));
    },
    async discover(target, options) {
      const { settings } = deps.snapshots.current();
      const [before, answer] = await Promise.all([needs.find(target), askForChallenge(deps, target, settings)]);
      const isContradicted = target.mode === "discovery" && answer === "passed" && before?.proof === "challenge";
      if (isContradicted) await needs.tryKeep(target, needs.forgetDoubtful(target));
      const known = isContradicted ? undefined : before;
      const challenge = challengeOf(answer);
      const resourceMetadata = challenge?.resourceMetadata ?? known?.resourceMetadata;
      const isChallenged =
        !isContradicted && (options.isChallenged ?? (challenge !== undefined || known?.challenged === true));
      const issuer = await deps.issuers.find(target);
      const found = await discover(deps, target, settings, { ...options, resourceMetadata, isChallenged, issuer });
      if (found.ok) {
        if (challenge && (known?.proof === undefined || known.resourceMetadata !== resourceMetadata)) {
          const proof = found.value.isAssumed === true ? "challenge" : "metadata";
          const named = resourceMetadata === undefined ? {} : { resourceMetadata };
          await needs.tryKeep(target, needs.keep(target, { needed: true, challenged: true, proof, ...named }));
        }
        return { ok: true, value: { ...found.value, challengedScope: challenge?.scope } };
      }
      // The known need leads nowhere, so start again. An unavailable server proves nothing.
      if (found.failure !== "unavailable" && known) {
        await needs.tryKeep(target, store.delete(needKey(target)));
        noteProbed(target, "not-needed");
      }
      return found;
    },
    passed(route) {
      if (!needs.isDoubtful.delete(route)) return;
      const target = findTarget(route);
      if (target) void needs.tryKeep(target, needs.forgetDoubtful(target));
    },
    async send(userId, target, scope) {
      const record: SentRecord = { schema: 1, routeKey: target.route.key, ...(scope === undefined ? {} : { scope }) };
      const tags = [upstreamTokenTag(userId), upstreamRouteTag(target.route.key)];
      const expiresAt = epochSeconds(clock) + SENT_SECONDS;
      await needs.tryKeep(target, store.put(sentKey(userId, target), record, { expiresAt, tags }));
    },
    wasSent: async (userId, target) => (await store.get<SentRecord>(sentKey(userId, target)))?.value,
  };
}

/** Returns the upstream's response to a request without a token. */
async function askForChallenge(
  { fetch }: NeedDeps,
  target: UpstreamTarget,
  settings: LiveSettings,
): Promise<ChallengeAnswer> {
  if (!matchesDomain(settings.mcpAllowedAsMetadataDomains, target.hostname)) return undefined;
  // A ping changes nothing and opens no session. Many servers do not support GET at this URL.
  const answer = await fetch({
    url: target.url,
    target: { kind: "upstream", domains: settings.mcpAllowedAsMetadataDomains, reach: target.reach },
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    maxBytes: METADATA_BYTES,
    timeoutMs: PROBE_MS,
  });
  if (!answer.ok) return SILENT.has(answer.reason) ? "silent" : undefined;
  if (answer.status >= 200 && answer.status < 300) return "passed";
  if (answer.status !== 401) return undefined;
  const reading = readChallenge(answer.headers["www-authenticate"]);
  return reading.kind === "bearer" ? reading.challenge : undefined;
}

/** Evaluates each distinct 401 once, up to a limit. With and without metadata are different cases. */
function createEvaluator(
  steady: Clock,
  confirmByAsking: (target: UpstreamTarget, reading: ChallengeReading) => Promise<Confirmation>,
): (target: UpstreamTarget, reading: ChallengeReading, isKnown: boolean) => Promise<Confirmation> {
  /** By content of the 401; without expiry while the evaluation runs. */
  const evaluated = new WeakMap<UpstreamTarget, Map<string, Evaluated>>();
  return (target, reading, isKnown) => {
    let all = evaluated.get(target);
    if (!all) evaluated.set(target, (all = new Map()));
    for (const [key, { untilMs }] of all) if (untilMs <= steady.now()) all.delete(key);
    const named = reading.kind === "bearer" ? reading.challenge.resourceMetadata : undefined;
    const key = `${reading.kind} ${named ?? ""}`;
    const before = all.get(key);
    if (before) return before.outcome;
    if (all.size >= MAX_EVALUATED) return Promise.resolve("refuted");
    const entry: Evaluated = { outcome: confirmByAsking(target, reading), untilMs: Number.POSITIVE_INFINITY };
    all.set(key, entry);
    const settle = (keptMs: number): void => {
      entry.untilMs = steady.now() + keptMs;
    };
    // A confirmed need is in the store, unless the store already had another result.
    entry.outcome.then(
      (outcome) => settle(outcome === "unavailable" ? UNREAD_MS : outcome === "refuted" || isKnown ? EVALUATED_MS : 0),
      () => settle(0),
    );
    return entry.outcome;
  };
}
