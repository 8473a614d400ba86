/**
 * `gateway audit verify`: checks that records are complete and unchanged, over rotated and compressed files, restarts,
 * crashes and workers.
 *
 * Untrusted input: the files. Only lines covered by a valid signature count as verified.
 */
import { parseCheckpoint, type Checkpoint } from "../../audit/chain/checkpoint.ts";
import { forgetOf } from "../../audit/chain/erased-record.ts";
import { type LinePosition, positionOf } from "../../audit/chain/lines.ts";
import { leafHash } from "../../audit/chain/merkle-tree.ts";
import type { NoteVerifier } from "../../audit/chain/signed-note.ts";
import { LINE_START, mayHoldRecord, readLogLine, splitLine, writtenMessage } from "../../audit/log-line.ts";
import { type LineBytes, readLines, sizeOf } from "../replay/record-lines.ts";
import { TornLines } from "../replay/torn-lines.ts";
import { Findings, MAX_FINDINGS, type FindingPlace, type VerifyReport } from "./findings.ts";
import { orderFiles } from "./order-files.ts";
import { type ReadLine, Run } from "./run.ts";

export interface VerifyInput {
  readonly files: readonly string[];
  readonly verifiers: readonly NoteVerifier[];
  /** Checkpoints stored elsewhere: each of these runs must exist, at least up to there. */
  readonly heads: readonly Checkpoint[];
  /** @param done bytes @param total bytes; 0 when that is not known */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** Records that exist only in a run: without a position they were changed. */
const OF_RUNS = new Set(["audit start", "audit checkpoint", "audit end"]);
/** Only a whole line of a run ends like this. */
const COMPLETE = /"seq":\d+(,"salt":"[^"]*")?\}$/;

/** @throws GatewayError `replay.unreadable` */
export async function verifyAudit({ files, progress, ...trusted }: VerifyInput): Promise<VerifyReport> {
  const verification = startVerification(trusted);
  const ordered = await orderFiles(files);
  const sizes = await Promise.all(ordered.map(sizeOf));
  const total = sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
  let before = 0;
  for (const [index, file] of ordered.entries()) {
    await readLines(file, {
      line: (line) => verification.take(line, file),
      progress: (done) => progress?.(before + done, total),
    });
    before += sizes[index] ?? 0;
  }
  return verification.end();
}

export interface Verification {
  /** Lines of a file in sequence; files in the order in which they were written. */
  take(line: LineBytes, file: string): void;
  end(): VerifyReport;
}

export function startVerification({ verifiers, heads }: Pick<VerifyInput, "verifiers" | "heads">): Verification {
  const findings = new Findings();
  const runs = new Map<string, Run>();
  const torn: FindingPlace[] = [];
  const lines = new TornLines<FindingPlace>((place) => torn.push(place));
  /** By run: the checkpoints of others in its first line. */
  const seen = new Map<string, readonly Checkpoint[]>();
  const forgotten: Forgotten = { lines: new Map(), actions: new Set() };
  let unchained = 0;
  let otherLines = 0;

  /** @returns false when it is not part of a run */
  function takeOfRun(bytes: Buffer, place: FindingPlace): boolean {
    const position = positionOf(bytes);
    if (position === undefined) return false;
    const { instance, seq } = position;
    let run = runs.get(instance);
    if (!run) runs.set(instance, (run = new Run(instance, findings, verifiers)));
    run.take(readLine(bytes, position, place, verifiers, forgotten));
    if (seq === 0) seen.set(instance, seenBy(bytes));
    return true;
  }

  /** Handles a line that belongs to no run. */
  function takeOther(bytes: Buffer, place: FindingPlace, isEnded: boolean): void {
    const line = readLogLine(bytes);
    const isOfRun =
      line.kind === "record" && (OF_RUNS.has(line.message) || "seq" in line.value || "instance" in line.value);
    // A partial line has no end; this one has both.
    if (line.kind === "broken" && line.isDeep === true) findings.add({ kind: "broken", place, note: line.problem });
    else if (isOfRun || COMPLETE.test(bytes.toString("latin1", Math.max(0, bytes.length - 80))))
      findings.add({ kind: "changed", place });
    else if (line.kind === "record") unchained += 1;
    else if (line.kind === "broken" && bytes.subarray(0, LINE_START.length).equals(LINE_START)) {
      if (isEnded) lines.add(bytes, place);
    } else if (mayHoldRecord(line, bytes)) unchained += 1;
    else otherLines += 1;
  }

  return {
    take({ bytes, number: line, offset, isEnded }, file) {
      const place = { file, line, offset };
      if (bytes === undefined) return findings.add({ kind: "broken", place, note: "it is longer than 1 MiB" });
      if (bytes.length === 0) return;
      const { torn: begun, rest } = splitLine(bytes);
      if (begun) lines.add(begun, place);
      if (!isEnded) lines.add(rest, place);
      lines.repeat(rest);
      const behind = begun ? { ...place, offset: offset + begun.length } : place;
      if (!takeOfRun(rest, behind)) takeOther(rest, behind, isEnded);
    },
    end() {
      lines.end();
      const reports = [...runs.values()].map((run) => run.end());
      const notGiven = new Map(
        reports.filter(({ first }) => first > 0).map(({ instance, first }) => [instance, first]),
      );
      // Unsigned statements are not evidence.
      const proven = reports.filter(({ first, signed }) => first === 0 && signed > 0);
      const known = proven.flatMap(({ instance }) => seen.get(instance) ?? []);
      for (const head of known) {
        const { instance, size } = head;
        if (runs.has(instance)) compare(head, "known to a later run");
        else notGiven.set(instance, Math.max(size, notGiven.get(instance) ?? 0));
      }
      for (const head of heads) {
        const { instance, size } = head;
        const note = "known to the head that was kept";
        const absent = runs.has(instance) ? (notGiven.get(instance) ?? 0) : size;
        if (absent > 0) findings.add({ kind: "missing", instance, first: 0, last: absent - 1, note });
        compare(head, note);
      }
      const unfounded = [...forgotten.lines].filter(([action]) => !forgotten.actions.has(action));
      // Each killed process leaves one at most.
      const crashes = reports.filter(({ isEnded }) => !isEnded).length;
      for (const place of torn.slice(crashes)) findings.add({ kind: "broken", place });
      const isUntold = reports.length === 0 || reports.some(({ isUnknown }) => isUnknown);
      const isPartial =
        torn.length > 0 ||
        unchained > 0 ||
        unfounded.length > 0 ||
        notGiven.size > 0 ||
        reports.some(({ unsigned }) => unsigned > 0);
      return {
        result: findings.count > 0 ? "found" : isUntold ? "untold" : isPartial ? "partly" : "whole",
        runs: reports,
        findings: findings.list,
        found: findings.count,
        notGiven: [...notGiven].map(([instance, lines]) => ({ instance, lines })),
        ...(forgotten.lines.size > 0 && { forgotten: forgottenBy(forgotten) }),
        torn: torn.slice(0, Math.min(crashes, MAX_FINDINGS)),
        unchained,
        otherLines,
      };
    },
  };

  function compare(head: Checkpoint, note: string): void {
    const { instance, size } = head;
    const answer = runs.get(instance)?.agrees(head);
    if (answer === "shorter") findings.add({ kind: "cut", instance, last: size - 1, note });
    if (answer === "other") findings.add({ kind: "rewritten", instance, last: size - 1, note });
  }
}

interface Forgotten {
  /** Erased lines, by the action that they name. */
  readonly lines: Map<string, number>;
  /** IDs of recorded actions. */
  readonly actions: Set<string>;
}

function forgottenBy({ lines, actions }: Forgotten): NonNullable<VerifyReport["forgotten"]> {
  return [...lines].map(([action, count]) => ({ action, lines: count, isRecorded: actions.has(action) }));
}

function readLine(
  bytes: Buffer,
  { instance, seq, hasSalt }: LinePosition,
  place: FindingPlace,
  verifiers: readonly NoteVerifier[],
  forgotten: Forgotten,
): ReadLine {
  const message = writtenMessage(bytes);
  if (hasSalt && message === "administrative action") {
    const [, id] = /"action-id":"([^"]{1,200})","action":"forget"/.exec(bytes.toString("latin1", 0, 400)) ?? [];
    if (id !== undefined) forgotten.actions.add(id);
  }
  if (hasSalt) return { seq, leaf: leafHash(bytes), place, kind: message === "audit end" ? "end" : "record" };
  const erased =
    message === "erased record" ? /"leaf":"([A-Za-z0-9_-]{43})"/.exec(bytes.toString("latin1"))?.[1] : undefined;
  if (erased !== undefined) {
    const by = forgetOf(bytes.toString("utf8"), { instance, seq, leaf: erased }, verifiers);
    if (by !== undefined) forgotten.lines.set(by, (forgotten.lines.get(by) ?? 0) + 1);
    return { seq, leaf: erased, place, kind: by === undefined ? "erased" : "forgotten" };
  }
  return { seq, leaf: leafHash(bytes), place, kind: "checkpoint", text: bytes.toString("utf8") };
}

/** How far other runs had come, from the first line of a run. */
function seenBy(line: Buffer): readonly Checkpoint[] {
  if (writtenMessage(line) !== "audit start") return [];
  try {
    const { seen } = JSON.parse(line.toString("utf8")) as { readonly seen?: unknown };
    return (Array.isArray(seen) ? seen : []).flatMap((note: unknown) => {
      const found = typeof note === "string" ? checkpointOfNote(note) : undefined;
      return found ? [found] : [];
    });
  } catch {
    return [];
  }
}

/** Does not verify its signatures. */
export function checkpointOfNote(note: string): Checkpoint | undefined {
  return parseCheckpoint(note.slice(0, note.indexOf("\n\n") + 1));
}
