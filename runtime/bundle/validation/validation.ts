/**
 * Reads the files, validates them, and sends changes in small portions. Runs in a thread, except for a process's first
 * load.
 *
 * Validating 10,000 routes takes a second, and copying the whole result would block the event loop for nearly as long.
 * So this side stores the text of each route it sent, compares, and sends only changed routes, one chunk after each
 * acknowledgment.
 */
import type { OwnersOutcome, OwnerStatus } from "../../config/load-by-owner.ts";
import { createRouteMemory, type CheckedConfig } from "../../config/load.ts";
import { hostCertificateFields, HOST_CERTIFICATES } from "../../features/listener/host-certificates.ts";
import { routeFields } from "../../config/route.ts";
import { secretUses } from "../../settings/secret-forms.ts";
import { settingsFields } from "../../config/settings.ts";
import { createPreviousSlices } from "../previous-slices.ts";
import { parseChanges } from "./parse-changes.ts";
import {
  publishedName,
  signatureWith,
  type DegradedOwner,
  type ValidationReport,
  type FromValidator,
  type PublishedSources,
  type Refusals,
  type RouteText,
  type SealedSlice,
  type SliceStatus,
  type ToValidator,
  type CandidateCertificate,
  type CandidateReport,
  type PublishedSource,
  type ParsedSlice,
} from "./protocol.ts";
import { secretNeeds } from "../build/secret-needs.ts";
import { readTogether, type SourceReading } from "../sources.ts";
import { byFileOf, few, fewOfEach, objections, validateReading, type ValidationContext } from "./validate-reading.ts";
import { isRecord } from "../../shared/is-record.ts";
import { readOutline } from "../../config/outline.ts";
import { canonicalJson, digestOf } from "../../shared/canonical-json.ts";
import { readSource } from "../../settings/source.ts";

export interface ValidationSettings {
  readonly path: string;
  /** Keys that seal previous slices: 32 bytes each, current first. */
  readonly sealKeys: readonly Uint8Array[];
}

const CHUNK_ROUTES = 50;
const CHUNK_REMOVALS = 2_000;

/**
 * @param send to the main thread, in order
 * @returns the receiver of the main thread's messages; it rejects for a bug, and must not be used after that
 */
export function createValidation(
  { path, sealKeys }: ValidationSettings,
  send: (message: FromValidator) => void,
): (message: ToValidator) => Promise<void> {
  const handover = new Handover(send);
  /** Most changes are to a few routes of many. */
  const memory = createRouteMemory();
  const previous = createPreviousSlices(sealKeys);
  let published: PublishedSources = { key: "", sources: [] };
  let refusals: Refusals = { key: 0, list: [] };
  /** Standings of the last load. */
  let standings: readonly OwnerStatus[] | undefined;
  let lastSignature: string | undefined;
  /** The last validation; a validated candidate is usually loaded next. */
  let lastValidated: { readonly signature: string; readonly outcome: OwnersOutcome } | undefined;
  let fresh = true;

  return async (message) => {
    switch (message.type) {
      case "ack":
        handover.acknowledged?.();
        break;
      case "validate":
        await validateCandidates(message.published, message.candidates, message.kept);
        break;
      case "in-force":
        // Without a load nothing is new.
        send({ type: "kept", ...(standings ? previous.keep(standings, message.at) : { changed: [], removed: [] }) });
        break;
      case "parse":
        send({ type: "parsed", slice: parseSlice(message.text, message.owner) });
        break;
      case "parse-changes":
        send({ type: "parsed-changes", changes: parseChanges(message.text) });
        break;
      default:
        published = message.published ?? published;
        ({ refusals } = message);
        if (message.kept) previous.open(message.kept);
        await load();
    }
  };

  async function load(): Promise<void> {
    const reading = await readAll(published);
    const signature = signatureWith(reading, refusals);
    if (signature !== undefined && signature === lastSignature) return send({ type: "unchanged" });
    lastSignature = signature;
    const outcome = validateAll(reading);
    const { config } = outcome;
    const report = { ...reportOf(reading, outcome), signature };
    if (!config) return send({ type: "bad", ...report });
    ({ standings } = outcome);
    const { boot, settings, digest } = config;
    const certificates = config.certificates.map(({ key, owner, host, text }) => ({ key, owner, host, text }));
    const found = secretNeeds([
      ...secretUses(settingsFields, settings),
      ...config.certificates.flatMap(({ doc }) => secretUses(hostCertificateFields, doc)),
      ...config.routes.flatMap((route) => secretUses(routeFields, route.doc)),
    ]);
    const needs = { ...found, files: config.files };
    send({ type: "good", boot, settings, certificates, digest, needs, fresh, ...report });
    fresh = false;
    await handover.sendChanges(config);
    send({ type: "done" });
  }

  /** Reads files and published slices. */
  async function readAll({ key, sources }: PublishedSources): Promise<SourceReading> {
    const files = await readTogether(path);
    return { ...files, signature: signatureWith(files, { key }), sources: [...files.sources, ...sources] };
  }

  function validateAll(reading: SourceReading): OwnersOutcome {
    const { signature } = reading;
    if (refusals.list.length === 0 && signature !== undefined && lastValidated?.signature === signature)
      return lastValidated.outcome;
    // Kept for at most one load: a configuration is large.
    lastValidated = undefined;
    return validateReading(reading, contextOf());
  }

  function contextOf(): ValidationContext {
    return { path, previous: previous.byOwner, refusals: refusals.list, memory };
  }

  /** Valid if the candidates would be active unchanged, and no other owner would lose anything. */
  async function validateCandidates(
    slices: PublishedSources,
    candidates: readonly string[],
    sealed: readonly SealedSlice[] | undefined,
  ): Promise<void> {
    if (sealed) previous.open(sealed);
    const reading = await readAll(slices);
    const names = new Set(candidates.map(publishedName));
    // In a conflict, the new slice is the cause.
    const sources = reading.sources.map((source) => (names.has(source.file) ? { ...source, isNew: true } : source));
    const outcome = validateReading({ ...reading, sources }, contextOf());
    const problems = objections(reading, outcome, { owners: candidates, files: names }, contextOf());
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
      files: outcome.config?.files,
    });
  }
}

/** Sends changed routes, one chunk at a time. */
class Handover {
  readonly #send: (message: FromValidator) => void;
  /** Routes that the main thread has, by key. */
  readonly #handedOver = new Map<string, RouteText>();
  /** Called when the main thread has received a chunk. */
  acknowledged: (() => void) | undefined;

  constructor(send: (message: FromValidator) => void) {
    this.#send = send;
  }

  async sendChanges({ routes }: CheckedConfig): Promise<void> {
    const present = new Set(routes.map((route) => route.key));
    const removed = [...this.#handedOver.keys()].filter((key) => !present.has(key));
    for (let at = 0; at < removed.length; at += CHUNK_REMOVALS) {
      await this.#sendChunk([], removed.slice(at, at + CHUNK_REMOVALS));
    }
    let changed: RouteText[] = [];
    for (const { key, owner, limitedTo, name, text, reach } of routes) {
      const route = { key, owner, limitedTo, name, text, ...(reach && { reach }) };
      if (isSame(route, this.#handedOver.get(key))) continue;
      changed.push(route);
      if (changed.length < CHUNK_ROUTES) continue;
      await this.#sendChunk(changed, []);
      changed = [];
    }
    if (changed.length > 0) await this.#sendChunk(changed, []);
  }

  async #sendChunk(changed: readonly RouteText[], removed: readonly string[]): Promise<void> {
    this.#send({ type: "chunk", changed, removed });
    await new Promise<void>((resolve) => (this.acknowledged = resolve));
    for (const route of changed) this.#handedOver.set(route.key, route);
    for (const key of removed) this.#handedOver.delete(key);
  }
}

function isSame({ text, reach, limitedTo }: RouteText, before: RouteText | undefined): boolean {
  return before !== undefined && before.reach === reach && before.limitedTo === limitedTo && before.text === text;
}

function reportOf(
  { sources, unread, directories }: SourceReading,
  outcome: OwnersOutcome,
): Omit<ValidationReport, "signature"> {
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

/**
 * Every reference, sealed text and certificate of a valid slice: validating them needs its secrets, which this thread
 * lacks.
 */
function candidateParts({ file, text }: PublishedSource): Pick<CandidateReport, "secrets" | "certificates"> {
  const { value } = readSource(file, text);
  if (!isRecord(value)) return { secrets: [], certificates: [] };
  const { owner, settings, settingsPath, routes } = readOutline(value, () => {});
  const uses = [
    ...secretUses(settingsFields, settings, settingsPath),
    ...routes.flatMap((route) => secretUses(routeFields, route.value, route.path)),
  ];
  const brought = isRecord(settings) ? settings[HOST_CERTIFICATES] : undefined;
  const certificates = Object.entries(isRecord(brought) ? brought : {}).map(([host, doc]): CandidateCertificate => {
    const path = [...settingsPath, HOST_CERTIFICATES, host];
    return { file, path, key: `${owner}/${host}`, owner, host, text: canonicalJson(doc) };
  });
  const secrets = uses.flatMap(({ path, form, values }) =>
    form === "plain" ? [] : [{ file, owner, path, form, values }],
  );
  return { secrets, certificates };
}

/** Three times the values of 20,000 routes; 100 MiB at most. */
const MAX_SLICE_VALUES = 1_000_000;

/**
 * Parses a slice that an owner sent; thousands of routes would take too long on the event loop. @param owner required
 * owner of the slice
 */
export function parseSlice(text: string, owner: string): ParsedSlice {
  const { value, problems } = readSource(publishedName(owner), text, { maxValues: MAX_SLICE_VALUES });
  if (problems.length > 0) return { ok: false, problems };
  if (!isRecord(value) || value["owner"] === undefined) {
    return { ok: false, message: 'the body must be a slice: "version", "owner", "settings", "routes" by name' };
  }
  if (value["owner"] !== owner) {
    const message = `the slice names the owner ${JSON.stringify(value["owner"])}, the path names "${owner}"`;
    return { ok: false, message };
  }
  return { ok: true, digest: digestOf(value) };
}
