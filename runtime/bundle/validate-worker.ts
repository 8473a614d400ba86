/**
 * The validating thread: reads the files, judges them, and sends what changed in small portions.
 *
 * Judging 10,000 routes takes a second, and handing the result over whole would stop the event loop for nearly as long.
 * So the thread keeps the text of each route it has handed over, compares here, and sends changed routes only, a chunk at
 * a time; the next one goes out when the last was taken in.
 */
import { parentPort, workerData } from "node:worker_threads";

import {
  createRouteMemory,
  loadSlices,
  type CheckedConfig,
  type LoadOutcome,
  type Problem,
  type SliceSource,
} from "../config/load.ts";
import { readOutline } from "../config/outline.ts";
import { isMembers } from "../config/problem.ts";
import { routeFields } from "../config/route.ts";
import { secretUses } from "../config/secrets.ts";
import { settingsFields } from "../config/settings.ts";
import { readSource } from "../config/source.ts";
import type {
  CandidateSecret,
  FromWorker,
  PublishedSource,
  PublishedSources,
  RouteText,
  SliceStatus,
  ToWorker,
} from "./protocol.ts";
import { secretNeeds } from "./secret-needs.ts";
import { readTogether, type Reading } from "./sources.ts";

export interface WorkerSettings {
  readonly path: string;
}

const CHUNK_ROUTES = 50;
const CHUNK_REMOVALS = 2_000;
/** A wrong template can spoil every route; people need the first few. */
const MAX_PROBLEMS = 200;

if (parentPort) serve(parentPort, workerData as WorkerSettings);

function serve(port: NonNullable<typeof parentPort>, { path }: WorkerSettings): void {
  /** What the other side has: route key → text. */
  const handedOver = new Map<string, string>();
  /** Most changes are to a few routes of many. */
  const memory = createRouteMemory();
  let published: PublishedSources = { key: "", sources: [] };
  let lastSignature: string | undefined;
  /** The last judgement; what was judged to be published is usually loaded next. */
  let judged: { readonly signature: string; readonly outcome: LoadOutcome } | undefined;
  let fresh = true;
  let acknowledged: (() => void) | undefined;

  port.on("message", (message: ToWorker) => {
    // A failure in here is a bug: it ends the thread, and the other side reports it.
    switch (message.type) {
      case "ack":
        acknowledged?.();
        break;
      case "judge":
        void judge(message.published, message.candidates);
        break;
      default:
        published = message.published ?? published;
        void load();
    }
  });

  async function load(): Promise<void> {
    const reading = await readAll(published);
    const { sources, signature, directories } = reading;
    if (signature !== undefined && signature === lastSignature) return send({ type: "unchanged" });
    lastSignature = signature;
    const { config, owners, problems } = judgeAll(reading);
    const slices = sources.map((source) => sliceStatus(source, owners, problems));
    const findings = { slices, directories, problems: few(problems) };
    if (!config || problems.some(({ severity }) => severity === "error")) return send({ type: "bad", ...findings });
    const { boot, settings, digest } = config;
    const needs = secretNeeds([
      ...secretUses(settingsFields, settings),
      ...config.routes.flatMap((route) => [...secretUses(routeFields, route.doc)]),
    ]);
    send({ type: "good", boot, settings, digest, needs, fresh, ...findings });
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

  function judgeAll({ sources, problems: unread, signature }: Reading): LoadOutcome {
    if (signature !== undefined && judged?.signature === signature) return judged.outcome;
    const { config, owners, problems } = loadSlices(sources, memory);
    const all = [...unread, ...problems];
    if (unread.length === 0 && !sources.some((source) => source.boot)) {
      all.push({ severity: "error", file: path, path: "", message: "has no boot file, must have a gateway.yaml" });
    }
    const outcome = { problems: all, owners, ...(config && { config }) };
    // Kept for one load at most: a configuration is large.
    judged = undefined;
    return outcome;
  }

  async function judge(slices: PublishedSources, candidates: readonly string[]): Promise<void> {
    const reading = await readAll(slices);
    const outcome = judgeAll(reading);
    if (!outcome.problems.some(({ severity }) => severity === "error")) {
      if (reading.signature !== undefined) judged = { signature: reading.signature, outcome };
      const secrets = slices.sources.filter(({ file }) => candidates.includes(file)).flatMap(candidateSecrets);
      return send({ type: "judged", problems: few(outcome.problems), secrets });
    }
    // Once more for the messages: a conflict is the newcomer's.
    const sources = reading.sources.map((source) => ({ ...source, isNew: candidates.includes(source.file) }));
    const again = loadSlices(sources, memory).problems;
    const isKnown = ({ file }: Problem): boolean => sources.some((source) => source.file === file);
    const others = outcome.problems.filter((problem) => !isKnown(problem));
    send({ type: "judged", problems: few([...others, ...again]), secrets: [] });
  }

  async function sendChanges({ routes }: CheckedConfig): Promise<void> {
    const present = new Set(routes.map((route) => route.key));
    const removed = [...handedOver.keys()].filter((key) => !present.has(key));
    for (let at = 0; at < removed.length; at += CHUNK_REMOVALS) {
      await sendChunk([], removed.slice(at, at + CHUNK_REMOVALS));
    }
    let changed: RouteText[] = [];
    for (const { key, owner, name, text } of routes) {
      if (handedOver.get(key) === text) continue;
      changed.push({ key, owner, name, text });
      if (changed.length < CHUNK_ROUTES) continue;
      await sendChunk(changed, []);
      changed = [];
    }
    if (changed.length > 0) await sendChunk(changed, []);
  }

  async function sendChunk(changed: readonly RouteText[], removed: readonly string[]): Promise<void> {
    send({ type: "chunk", changed, removed });
    await new Promise<void>((resolve) => (acknowledged = resolve));
    for (const { key, text } of changed) handedOver.set(key, text);
    for (const key of removed) handedOver.delete(key);
  }

  function send(message: FromWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    port.postMessage(message);
  }
}

function sliceStatus(
  { file }: SliceSource,
  owners: ReadonlyMap<string, string>,
  problems: readonly Problem[],
): SliceStatus {
  const own = problems.filter((problem) => problem.file === file);
  const ok = own.every(({ severity }) => severity !== "error");
  return { owner: owners.get(file) ?? "unknown", file, ok, problems: few(own) };
}

/** Errors first when there are too many, and how many more there are. */
function few(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  if (first === undefined || problems.length <= MAX_PROBLEMS) return problems;
  const errors = problems.filter(({ severity }) => severity === "error");
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const shown = [...errors, ...warnings].slice(0, MAX_PROBLEMS);
  const message = `and ${problems.length - MAX_PROBLEMS} more problems`;
  return [...shown, { severity: first.severity, file: first.file, path: "", message }];
}

/** Every reference and sealed text of a slice that was found good. */
function candidateSecrets({ file, text }: PublishedSource): readonly CandidateSecret[] {
  const { value } = readSource(file, text);
  if (!isMembers(value)) return [];
  const { settings, settingsPath, routes } = readOutline(value, () => {});
  const uses = [
    ...secretUses(settingsFields, settings, settingsPath),
    ...routes.flatMap((route) => [...secretUses(routeFields, route.value, route.path)]),
  ];
  return uses.flatMap(({ path, form, values }) => (form === "plain" ? [] : [{ file, path, form, values }]));
}
