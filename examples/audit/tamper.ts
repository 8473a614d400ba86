/** What somebody might do to a log that tells of them. */
import { randomInt } from "node:crypto";

import type { Finding, VerifyReport } from "../../runtime/tools/audit/findings.ts";

/** As `gateway audit verify` names it: "missing 7". */
export function told({ kind, first, last }: Finding): string {
  return `${kind} ${first === last ? first : `${first ?? ""}-${last}`}`;
}

export interface Tampering {
  readonly lines: readonly string[];
  /** What must be said of it, and nothing else. */
  readonly must: readonly string[];
}

/** Something is done to one or two records that a checkpoint covers, at random. In these lines each stands at its `seq`. */
export function tamper(lines: readonly string[], { runs }: VerifyReport): Tampering {
  const signed = runs[0]?.signed ?? 0;
  const isRecord = (line: string | undefined): line is string => line !== undefined && !line.includes('"note"');
  // Behind the first two lines, which say where the run begins; a checkpoint would take its segment with it.
  const records = lines.flatMap((line, seq) =>
    seq > 1 && seq < signed - 1 && isRecord(line) && isRecord(lines[seq + 1]) ? [seq] : [],
  );
  const at = records[randomInt(records.length)] as number;
  const line = lines[at] as string;
  switch (randomInt(4)) {
    case 0:
      return { lines: lines.with(at, line.replace('"authorize check"', '"authorize cheek"')), must: [`changed ${at}`] };
    case 1:
      return { lines: lines.toSpliced(at, 1), must: [`missing ${at}`] };
    case 2:
      return { lines: lines.toSpliced(at, 0, line), must: [`repeated ${at}`] };
    default:
      // The first of the two comes too late.
      return { lines: lines.with(at, lines[at + 1] as string).with(at + 1, line), must: [`moved ${at}`] };
  }
}
