/** Output of `gateway audit verify`, as text and as JSON. */
import { visibleText } from "../../shared/json/visible-text.ts";
import type { Finding, FindingKind, FindingPlace, RunReport, VerifyReport } from "./findings.ts";

const WORDS: Readonly<Record<FindingKind, string>> = {
  missing: "missing",
  changed: "changed",
  moved: "moved behind later ones",
  repeated: "there twice",
  added: "added behind the end of its run",
  erased: "erased, only their digests are there",
  cut: "cut off at the end",
  rewritten: "rewritten",
  unproven: "unproven, the checkpoint that covers them is missing or changed",
  broken: "a broken line that no crash explains",
};

const RESULTS: Readonly<Record<VerifyReport["result"], string>> = {
  whole: "The audit is whole.",
  partly: "Nothing is missing, changed or moved in what is signed, but not all of it is signed or was given.",
  found: "The audit is NOT whole.",
  untold: "It cannot be told: no checkpoint here is signed by a key that was given.",
};

export function formatVerify(report: VerifyReport): string {
  const { result, runs, findings, found, forgotten = [], notGiven, torn, unchained, otherLines } = report;
  const isOpen = result === "whole" && runs.some(({ isEnded }) => !isEnded);
  const lines = [isOpen ? "All that is here is proven; not every run has an end." : RESULTS[result], ""];
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
  for (const place of torn) lines.push(`Half a line, of a process that was killed: ${placeText(place)}`);
  if (unchained > 0)
    lines.push(`${count(unchained, "record")} of no run: written while "audit" was off, or not by a gateway`);
  if (otherLines > 0) lines.push(`${count(otherLines, "line")} of other logs`);
  return lines.join("\n");
}

function findingText({ kind, instance, first, last = first, place, note }: Finding): string {
  const more = note === undefined ? "" : ` (${note})`;
  if (kind === "cut") return `${instance}: cut off at the end, it came to line ${last}${more}`;
  const which =
    first === undefined ? `lines up to ${last}` : first === last ? `line ${first}` : `lines ${first} to ${last}`;
  const whose = instance === undefined ? "" : `${which} of ${instance}: `;
  const where = place === undefined ? "" : `, ${kind === "missing" ? "behind " : ""}${placeText(place)}`;
  return `${whose}${WORDS[kind]}${more}${where}`;
}

function placeText({ file, line, offset }: FindingPlace): string {
  return `${visibleText(file)}:${line} (byte ${offset})`;
}

function runText(run: RunReport): readonly string[] {
  const { instance, first, last, signed, signedAt, isEnded, unsigned, isUnknown } = run;
  const end = isEnded ? "ended by itself" : "has no end: it still runs, or was killed";
  const until = signedAt === undefined ? "not signed" : `signed up to line ${signed - 1} at ${signedAt}`;
  const lines = [`${instance}: lines ${first} to ${last}, ${isUnknown ? "signed by an unknown key" : until}; ${end}`];
  if (unsigned > 0) lines.push(`  ${count(unsigned, "line")} behind the last checkpoint, not proven`);
  return lines;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function verifyJson(report: VerifyReport): string {
  return JSON.stringify(report, undefined, 2);
}
