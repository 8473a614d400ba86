/**
 * Some hours of lifelike traffic, written before the gateway starts: invented users and calls, decided by the real policies and
 * recorded by the code that records real requests.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { formatOutcome } from "../../../runtime/audit/outcome-record.ts";
import { formatRecord, RECORD_FIELDS, type RecordInput } from "../../../runtime/audit/record.ts";
import { formatProblem, loadSlices } from "../../../runtime/config/load.ts";
import { keepTraffic } from "../../../runtime/health/keep-traffic.ts";
import { createTraffic } from "../../../runtime/health/traffic.ts";
import { createRecords, identityTags } from "../../../runtime/identity/identity-records.ts";
import { evaluate } from "../../../runtime/policy/evaluate.ts";
import { findDecidingRule } from "../../../runtime/policy/recorded/deciding-rule.ts";
import { asksToSignIn } from "../../../runtime/audit/sign-in-reasons.ts";
import { openRecords } from "../../../runtime/record-kinds.ts";
import { recordPlace } from "../../../runtime/record-store/options.ts";
import { readRecords } from "../../../runtime/record-store/result.ts";
import { createSqliteBackEnd } from "../../../runtime/record-store/sqlite/sqlite-back-end.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { providerUserId } from "../../../runtime/shared/user-id.ts";
import { explainedRoute } from "../../../runtime/simulation/explain/explained-route.ts";
import { readQuestion } from "../../../runtime/simulation/explain/question.ts";
import { CLIENT } from "../services.ts";
import { CALLS, CLIENTS, TRAFFIC_USERS, type TrafficCall, type TrafficUser } from "./people.ts";

export interface TrafficOptions {
  /** "sqlite:…", of the gateway that starts afterwards. */
  readonly storageUrl: string;
  /** Its configuration, with all slices. */
  readonly configDirectory: string;
  /** A slice that is published when the gateway runs. */
  readonly published: object;
  readonly issuer: string;
  /** Default: 6. */
  readonly hours?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const INSTANCE = "demo-traffic";
/** When one server was slow and failed, and when somebody tried what is denied again and again: minutes ago. */
const OUTAGE = { from: 34, to: 22 };
const SURGE = { from: 96, to: 70 };

/** @returns the number of requests */
export async function addTraffic({
  storageUrl,
  configDirectory,
  published,
  issuer,
  hours = 6,
}: TrafficOptions): Promise<number> {
  const { routes, digest } = readRoutes(configDirectory, published);
  const place = recordPlace(undefined, storageUrl);
  if (place.kind !== "sqlite") throw new Error("Cannot add traffic: the demo has a SQLite store");
  const backEnd = createSqliteBackEnd(place.path, false, { maxAgeMs: 7 * DAY_MS, maxRecords: 1_000_000 });
  const store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
  const { identities } = createRecords(store);
  for (const user of TRAFFIC_USERS) {
    const record = identityOf(user, issuer);
    await identities.put(user.id, record, { tags: identityTags(record) });
  }

  const random = createRandom(7);
  const now = Date.now();
  let timeMs = Math.floor(now / MINUTE_MS) * MINUTE_MS - hours * 60 * MINUTE_MS;
  const traffic = createTraffic(undefined);
  const kept = keepTraffic({
    traffic,
    id: INSTANCE,
    store,
    takeLoopMs: () => 1 + random() * 3,
    clock: { now: () => timeMs },
    log: silentLog(),
  });
  let seq = 0;
  for (; timeMs < now; timeMs += MINUTE_MS) {
    const lines: string[] = [];
    const ago = (now - timeMs) / MINUTE_MS;
    const count = Math.round(6 + 34 * (1 - ago / (hours * 60)) ** 1.5 + random() * 8);
    for (let index = 0; index < count; index += 1) {
      const at = timeMs + Math.floor(((index + random()) / count) * MINUTE_MS);
      if (at >= now) break;
      const isSurge = ago < SURGE.from && ago > SURGE.to && random() < 0.35;
      const isOut = ago < OUTAGE.from && ago > OUTAGE.to;
      seq += 1;
      const request = decide(routes, random, { isSurge, isOut, at, seq, digest });
      lines.push(...request.lines);
      traffic.count(request.route, request.outcome);
      if (request.status > 0) traffic.answered(request.route, request.status, request.ms);
      if (request.status === 502) traffic.failed(request.route, "connection timed out", request.to);
    }
    const { rows, ended } = readRecords(lines, now);
    await backEnd.write({ rows, ended, now });
    // The clock is at the end of the minute for as long as it is written.
    timeMs += MINUTE_MS;
    await kept.tick();
    timeMs -= MINUTE_MS;
  }
  await kept.close();
  await backEnd.close();
  await store.close();
  return seq;
}

type Routes = ReadonlyMap<
  string,
  {
    readonly route: ReturnType<typeof explainedRoute>;
    readonly prefix: string;
    readonly owner: string;
    readonly to: string;
  }
>;

function readRoutes(directory: string, published: object): { readonly routes: Routes; readonly digest: string } {
  const names = readdirSync(directory).filter((name) => /\.(?:ya?ml|json)$/.test(name));
  const sources = names.map((name) => ({
    file: name,
    boot: name === "gateway.yaml",
    text: readFileSync(join(directory, name), "utf8"),
  }));
  const { config, problems } = loadSlices([
    ...sources,
    { file: "published.json", boot: false, text: JSON.stringify(published) },
  ]);
  if (!config) throw new Error(`Cannot add traffic:\n${problems.map(formatProblem).join("\n")}`);
  const routes = new Map(
    config.routes.map((route) => {
      const to = [route.doc.to ?? ""].flat()[0];
      const upstream = typeof to === "string" ? to : "";
      return [
        route.key,
        { route: explainedRoute(route), prefix: route.doc.prefix ?? "/", owner: route.owner, to: upstream },
      ];
    }),
  );
  return { routes, digest: config.digest };
}

interface Moment {
  readonly isSurge: boolean;
  readonly isOut: boolean;
  readonly at: number;
  readonly seq: number;
  /** Of the configuration, so that the console can show the rules that decided. */
  readonly digest: string;
}

function decide(routes: Routes, random: () => number, { isSurge, isOut, at, seq, digest }: Moment) {
  const call = isSurge ? (CALLS.find(({ tool }) => tool === "delete_repo") as TrafficCall) : pick(CALLS, random);
  const users = TRAFFIC_USERS.filter(({ groups }) => call.by === undefined || groups.includes(call.by));
  const user = isSurge ? TRAFFIC_USERS.find(({ name }) => name.startsWith("Dmitri")) : pick(users, random);
  const isAnonymous = call.tool === undefined && random() < 0.1;
  const known = routes.get(call.route);
  if (!known || !user) throw new Error(`Cannot add traffic: there is no route "${call.route}"`);
  const { route, prefix, owner, to } = known;
  const path = call.tool === undefined ? `${prefix}/` : `${prefix}/mcp`;
  const read = readQuestion(
    {
      user: user.id,
      email: user.email,
      groups: user.groups.join(","),
      anonymous: isAnonymous,
      method: call.tool === undefined ? "GET" : "POST",
      path,
      ip: "192.0.2.17",
      ...(call.tool !== undefined && { tool: call.tool, arguments: JSON.stringify(call.given ?? {}) }),
    },
    route,
  );
  if (!read.ok) throw new Error(`Cannot add traffic: ${read.problem}`);
  const { facts } = read;
  const decision = evaluate(route.policy, facts);
  const isLimited = decision.allowed && random() < 0.004;
  const isAsking = !decision.allowed && !decision.denied && asksToSignIn(decision.allowWhyFalse);
  const outcome = isLimited
    ? "limited"
    : decision.allowed
      ? "allowed"
      : decision.approval
        ? "waiting"
        : isAsking
          ? "sign-in"
          : "denied";
  const isFailing =
    outcome === "allowed" && ((isOut && call.route === "sales/salesforce" && random() < 0.6) || random() < 0.003);
  const ms = isFailing ? 10_000 : call.ms * (0.6 + random() ** 3 * 4);
  const status = isFailing ? 502 : outcome === "allowed" ? 200 : outcome === "limited" ? 429 : isAsking ? 302 : 403;
  const requestId = `d${at.toString(16)}${seq.toString(16)}`;
  const input: RecordInput = {
    timeMs: at,
    decision,
    requestId,
    bundleDigest: digest,
    route: call.route,
    http: facts.http,
    user: isAnonymous ? undefined : user,
    clientId: call.tool === undefined ? undefined : CLIENTS[Math.floor(random() ** 2 * CLIENTS.length)],
    authMethod: isAnonymous ? undefined : call.tool === undefined ? "session" : "grant",
    mcp: facts.mcp,
    toolArguments: () => JSON.stringify(call.given ?? {}),
    rule: findDecidingRule(route.policy, facts, decision),
    limited: isLimited ? { limit: "calls", retryAfterMs: 900 } : undefined,
  };
  const fields = RECORD_FIELDS.filter((name) => name !== "replay");
  const line = formatRecord(fields, input);
  const ended = formatOutcome({
    timeMs: at + ms,
    of: seq,
    requestId,
    status,
    failedBy: isFailing ? "upstream" : undefined,
    failure: isFailing ? "connection timed out" : undefined,
    durationMs: outcome === "allowed" ? ms : 0.4,
    lists: undefined,
  });
  return {
    lines: [placed(line, seq), placed(ended, undefined)],
    route: { key: call.route, owner },
    outcome,
    status,
    ms,
    to,
  } as const;
}

/** As the log numbers its lines. */
function placed(line: string, seq: number | undefined): string {
  return `${line.trimEnd().slice(0, -1)},"instance":"${INSTANCE}"${seq === undefined ? "" : `,"seq":${seq}`}}`;
}

function pick<T extends { readonly weight: number }>(all: readonly T[], random: () => number): T {
  let left = random() * all.reduce((sum, { weight }) => sum + weight, 0);
  return all.find(({ weight }) => (left -= weight) <= 0) ?? (all[0] as T);
}

/** The same traffic with each start (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function identityOf(user: TrafficUser, issuer: string) {
  const { email, name, groups } = user;
  const checked = providerUserId(undefined, user.id);
  if (!checked.ok) throw new Error(`Cannot add traffic: "${user.id}" ${checked.problem}`);
  const seconds = Math.floor(Date.now() / 1000);
  return {
    userId: checked.id,
    providerUrl: issuer,
    providerClientId: CLIENT.client_id,
    version: Date.now(),
    email,
    name,
    groups,
    claims: { email, email_verified: true, name, groups: [...groups] },
    leftOut: null,
    // Nothing opens it: these users count as signed in, and the gateway never asks the provider about them.
    accessToken: "",
    confirmedAt: seconds - 1800,
    confirmations: 4,
    signIns: 1,
  };
}
