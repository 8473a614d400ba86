/** Output of `gateway audit verify`, as text and as JSON. */
import { visibleText } from "../../shared/json/visible-text.ts";
import type { Finding, FindingKind, FindingPlace, RunReport, VerifyReport } from "./findings.ts";

const WORDS: Readonly<Record<FindingKind, string>> = {
  missing: "missing",
  changed: "changed",
  moved: "moved after later ones",
  repeated: "there twice",
  added: "added after the end of its run",
  erased: "erased, only their digests are there",
  cut: "truncated at the end",
  rewritten: "rewritten",
  unproven: "not verified, their checkpoint is missing or changed",
  broken: "a damaged line that no crash explains",
};

const RESULTS: Readonly<Record<VerifyReport["result"], string>> = {
  whole: "The audit is complete.",
  partly: "No signed record is missing, changed or moved, but not all records are signed or were given.",
  found: "The audit is NOT complete.",
  untold: "Cannot verify: no checkpoint is signed by a given key.",
};

export function formatVerify(report: VerifyReport): string {
  const { result, runs, findings, found, forgotten = [], notGiven, torn, unchained, otherLines } = report;
  const isOpen = result === "whole" && runs.some(({ isEnded }) => !isEnded);
  const lines = [isOpen ? "All given records are verified; not every run has an end." : RESULTS[result], ""];
  for (const finding of findings) lines.push(`  ${findingText(finding)}`);
  if (found > findings.length) lines.push(`  and ${found - findings.length} more`);
  if (found > 0) lines.push("");
  for (const run of runs) lines.push(...runText(run));
  for (const { instance, lines: count } of notGiven) {
    lines.push(`Not given: lines 0 to ${count - 1} of ${instance}`);
  }
  for (const { action, lines: erased, isRecorded } of forgotten) {
    const note = isRecorded ? "" : ", whose record was not given";
    lines.push(`${count(erased, "record")} erased by \`gateway users forget\`, action ${action}${note}`);
  }
  for (const place of torn) lines.push(`Incomplete line of a killed process: ${placeText(place)}`);
  if (unchained > 0)
    lines.push(`${count(unchained, "record")} of no run: written while "audit" was off, or not by a gateway`);
  if (otherLines > 0) lines.push(`${count(otherLines, "line")} of other logs`);
  return lines.join("\n");
}

function findingText({ kind, instance, first, last = first, place, note }: Finding): string {
  const more = note === undefined ? "" : ` (${note})`;
  if (kind === "cut") return `${instance}: truncated at the end, it had lines up to ${last}${more}`;
  const which =
    first === undefined ? `lines up to ${last}` : first === last ? `line ${first}` : `lines ${first} to ${last}`;
  const whose = instance === undefined ? "" : `${which} of ${instance}: `;
  const where = place === undefined ? "" : `, ${kind === "missing" ? "after " : ""}${placeText(place)}`;
  return `${whose}${WORDS[kind]}${more}${where}`;
}

function placeText({ file, line, offset }: FindingPlace): string {
  return `${visibleText(file)}:${line} (byte ${offset})`;
}

function runText(run: RunReport): readonly string[] {
  const { instance, first, last, signed, signedAt, isEnded, unsigned, isUnknown } = run;
  const end = isEnded ? "ended normally" : "has no end: it still runs, or was killed";
  const until = signedAt === undefined ? "not signed" : `signed up to line ${signed - 1} at ${signedAt}`;
  const lines = [`${instance}: lines ${first} to ${last}, ${isUnknown ? "signed by an unknown key" : until}; ${end}`];
  if (unsigned > 0) lines.push(`  ${count(unsigned, "line")} after the last checkpoint, not verified`);
  return lines;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function verifyJson(report: VerifyReport): string {
  return JSON.stringify(report, undefined, 2);
}
