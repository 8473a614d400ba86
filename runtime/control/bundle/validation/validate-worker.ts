/**
 * The validating thread: reads the files, validates them, and sends what changed in small portions.
 *
 * Validating 10,000 routes takes a second, and handing the result over whole would stop the event loop for nearly as long.
 * So the thread keeps the text of each route it has handed over, compares here, and sends changed routes only, a chunk at
 * a time; the next one goes out when the last was taken in.
 */
import { parentPort, workerData } from "node:worker_threads";

import { type KeptSlice, loadByOwner, type OwnersOutcome, type OwnerStanding } from "../../../config/load-by-owner.ts";
import { createRouteMemory, type CheckedConfig, type Problem } from "../../../config/load.ts";
import { hostCertificateFields } from "../../../features/listener/host-certificates.ts";
import { routeFields } from "../../../config/route.ts";
import { secretUses } from "../../../settings/secret-spellings.ts";
import { settingsFields } from "../../../config/settings.ts";
import { candidateParts } from "./candidates.ts";
import { createKeptSlices } from "../kept-slices.ts";
import { parseSlice } from "./parse-slice.ts";
import {
  publishedName,
  type DegradedOwner,
  type ValidationReport,
  type FromWorker,
  type PublishedSources,
  type Refusals,
  type RouteText,
  type SealedSlice,
  type SliceStatus,
  type ToWorker,
} from "./protocol.ts";
import { secretNeeds } from "../secret-needs.ts";
import { readTogether, type Reading } from "../sources.ts";

export interface WorkerSettings {
  readonly path: string;
  /** To seal kept slices: 32 bytes each, current first. */
  readonly keptKeys: readonly Uint8Array[];
}

const CHUNK_ROUTES = 50;
const CHUNK_REMOVALS = 2_000;
/** A wrong template can spoil every route; people need the first few. */
const MAX_PROBLEMS = 200;

if (parentPort) serve(parentPort, workerData as WorkerSettings);

function serve(port: NonNullable<typeof parentPort>, { path, keptKeys }: WorkerSettings): void {
  /** What the other side has: route key → what `contentOf` says. */
  const handedOver = new Map<string, string>();
  /** Most changes are to a few routes of many. */
  const memory = createRouteMemory();
  const kept = createKeptSlices(keptKeys);
  let published: PublishedSources = { key: "", sources: [] };
  let refusals: Refusals = { key: 0, list: [] };
  /** Of the last load. */
  let standings: readonly OwnerStanding[] = [];
  let lastSignature: string | undefined;
  /** The last validation; what was validated to be published is usually loaded next. */
  let lastValidated: { readonly signature: string; readonly outcome: OwnersOutcome } | undefined;
  let fresh = true;
  let acknowledged: (() => void) | undefined;

  port.on("message", (message: ToWorker) => {
    // A failure in here is a bug: it ends the thread, and the other side reports it.
    switch (message.type) {
      case "ack":
        acknowledged?.();
        break;
      case "validate":
        void validateCandidates(message.published, message.candidates, message.kept);
        break;
      case "in-force":
        send({ type: "kept", ...kept.keep(standings, message.at) });
        break;
      case "parse":
        send({ type: "parsed", slice: parseSlice(message.text, message.owner) });
        break;
      default:
        published = message.published ?? published;
        ({ refusals } = message);
        if (message.kept) kept.open(message.kept);
        void load();
    }
  });

  async function load(): Promise<void> {
    const reading = await readAll(published);
    const signature = reading.signature === undefined ? undefined : `${reading.signature} ${refusals.key}`;
    if (signature !== undefined && signature === lastSignature) return send({ type: "unchanged" });
    lastSignature = signature;
    const outcome = validateAll(reading);
    const { config } = outcome;
    const report = reportOf(reading, outcome);
    if (!config) return send({ type: "bad", ...report });
    ({ standings } = outcome);
    const { boot, settings, digest } = config;
    const certificates = config.certificates.map(({ key, owner, host, text }) => ({ key, owner, host, text }));
    const needs = secretNeeds([
      ...secretUses(settingsFields, settings),
      ...config.certificates.flatMap(({ doc }) => [...secretUses(hostCertificateFields, doc)]),
      ...config.routes.flatMap((route) => [...secretUses(routeFields, route.doc)]),
    ]);
    send({ type: "good", boot, settings, certificates, digest, needs, fresh, ...report });
    fresh = false;
    await sendChanges(config);
    send({ type: "done" });
  }

  /** Files and published slices. */
  async function readAll({ key, sources }: PublishedSources): Promise<Reading> {
    const files = await readTogether(path);
    const signature = files.signature === undefined ? undefined : `${files.signature} ${key}`;
    return { ...files, signature, sources: [...files.sources, ...sources] };
  }

  function validateAll(reading: Reading): OwnersOutcome {
    const { signature } = reading;
    if (refusals.list.length === 0 && signature !== undefined && lastValidated?.signature === signature)
      return lastValidated.outcome;
    // Kept for one load at most: a configuration is large.
    lastValidated = undefined;
    return validateReading(reading, kept.byOwner);
  }

  function validateReading(
    { sources, problems: fatal, unread }: Reading,
    last: ReadonlyMap<string, KeptSlice>,
  ): OwnersOutcome {
    const outcome = loadByOwner({ sources, unread, kept: last, refusals: refusals.list }, memory);
    const missing = fatal.length === 0 && !sources.some((source) => source.boot) ? [noBootFile()] : fatal;
    if (missing.length === 0) return outcome;
    const { standings: none, owners, problems } = outcome;
    return { standings: none, owners, problems: [...missing, ...problems] };
  }

  function noBootFile(): Problem {
    return { severity: "error", file: path, path: [], message: "has no boot file, must have a gateway.yaml" };
  }

  /** Good when the candidates would be in force as they are, and nobody else would lose what he has. */
  async function validateCandidates(
    slices: PublishedSources,
    candidates: readonly string[],
    sealed: readonly SealedSlice[] | undefined,
  ): Promise<void> {
    if (sealed) kept.open(sealed);
    const reading = await readAll(slices);
    const names = new Set(candidates.map(publishedName));
    // A conflict is the newcomer's.
    const sources = reading.sources.map((source) => (names.has(source.file) ? { ...source, isNew: true } : source));
    const outcome = validateReading({ ...reading, sources }, kept.byOwner);
    const problems = objections(reading, outcome, candidates);
    if (problems.length > 0)
      return send({ type: "validated", problems: fewOfEach(problems), secrets: [], certificates: [] });
    const isGood = outcome.standings.every(({ standing }) => standing === "current");
    if (isGood && reading.signature !== undefined) lastValidated = { signature: reading.signature, outcome };
    const warnings = outcome.problems.filter(({ severity }) => severity === "warning");
    const found = slices.sources.filter(({ file }) => names.has(file)).map(candidateParts);
    const secrets = found.flatMap((each) => each.secrets);
    send({
      type: "validated",
      problems: fewOfEach(warnings),
      secrets,
      certificates: found.flatMap((each) => each.certificates),
    });
  }

  /** Everything for which a change must not be made. */
  function objections(
    reading: Reading,
    { config, problems, standings: after }: OwnersOutcome,
    candidates: readonly string[],
  ): readonly Problem[] {
    if (!config) return problems;
    const degraded = after.filter(({ standing }) => standing !== "current");
    const own = degraded.filter(({ owner = "" }) => candidates.includes(owner));
    if (own.length > 0 || degraded.length === 0) return own.flatMap((each) => each.problems);
    // Others are not served as they wrote it. Is it because of this change?
    const names = new Set(candidates.map(publishedName));
    const inForce = candidates.flatMap((owner) => kept.byOwner.get(owner)?.sources ?? []);
    const before = validateReading(
      {
        ...reading,
        sources: [
          ...reading.sources.filter(({ file }) => !names.has(file)),
          ...inForce.filter(({ file }) => names.has(file)).map((source) => ({ ...source, boot: false })),
        ],
      },
      kept.byOwner,
    );
    const earlier = new Map(before.standings.map((each) => [each.owner, each.standing]));
    return degraded
      .filter(({ owner, standing }) => isWorse(standing, earlier.get(owner) ?? "absent"))
      .flatMap((each) => each.problems);
  }

  async function sendChanges({ routes }: CheckedConfig): Promise<void> {
    const present = new Set(routes.map((route) => route.key));
    const removed = [...handedOver.keys()].filter((key) => !present.has(key));
    for (let at = 0; at < removed.length; at += CHUNK_REMOVALS) {
      await sendChunk([], removed.slice(at, at + CHUNK_REMOVALS));
    }
    let changed: RouteText[] = [];
    for (const { key, owner, heldTo, name, text, reach } of routes) {
      const route = { key, owner, heldTo, name, text, ...(reach && { reach }) };
      if (handedOver.get(key) === contentOf(route)) continue;
      changed.push(route);
      if (changed.length < CHUNK_ROUTES) continue;
      await sendChunk(changed, []);
      changed = [];
    }
    if (changed.length > 0) await sendChunk(changed, []);
  }

  async function sendChunk(changed: readonly RouteText[], removed: readonly string[]): Promise<void> {
    send({ type: "chunk", changed, removed });
    await new Promise<void>((resolve) => (acknowledged = resolve));
    for (const route of changed) handedOver.set(route.key, contentOf(route));
    for (const key of removed) handedOver.delete(key);
  }

  function send(message: FromWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    port.postMessage(message);
  }
}

function contentOf({ text, reach, heldTo }: RouteText): string {
  return `${reach ?? ""} ${heldTo ?? ""} ${text}`;
}

function isWorse(standing: OwnerStanding["standing"], than: OwnerStanding["standing"]): boolean {
  const order = ["current", "kept", "absent"] as const;
  return order.indexOf(standing) > order.indexOf(than);
}

function reportOf({ sources, unread, directories }: Reading, outcome: OwnersOutcome): ValidationReport {
  const { problems, owners, standings } = outcome;
  const byFile = byFileOf(problems);
  const standingOf = new Map(standings.flatMap((each) => each.files.map((file) => [file, each] as const)));
  const statusOf = (file: string): SliceStatus => {
    const own = byFile.get(file) ?? [];
    const { owner = "unknown", standing = "current" } = standingOf.get(file) ?? {};
    const ok = own.every(({ severity }) => severity !== "error");
    const status = { owner: owners.get(file) ?? owner, file, ok, problems: few(own) };
    return standing === "current" ? status : { ...status, standing };
  };
  const degraded = standings.flatMap(({ owner = "unknown", standing, files, problems: reasons }): DegradedOwner[] =>
    standing === "current" ? [] : [{ owner, standing, files, problems: few(reasons) }],
  );
  const files = new Set([...sources.map(({ file }) => file), ...unread.map(({ file }) => file)]);
  return {
    slices: [...files].map(statusOf),
    directories,
    problems: fewOfEach(problems),
    degraded,
    currentOwners: standings.length - degraded.length,
  };
}

function byFileOf(problems: readonly Problem[]): ReadonlyMap<string, readonly Problem[]> {
  return Map.groupBy(problems, ({ file }) => file);
}

/** Of each file a few: one with a thousand mistakes hides nobody else's. */
function fewOfEach(problems: readonly Problem[]): readonly Problem[] {
  return [...byFileOf(problems).values()].flatMap(few);
}

/** Errors first when there are too many, and how many more there are. */
function few(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  if (first === undefined || problems.length <= MAX_PROBLEMS) return problems;
  const errors = problems.filter(({ severity }) => severity === "error");
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const shown = [...errors, ...warnings].slice(0, MAX_PROBLEMS);
  const message = `and ${problems.length - MAX_PROBLEMS} more problems`;
  return [...shown, { severity: first.severity, file: first.file, path: [], message }];
}
