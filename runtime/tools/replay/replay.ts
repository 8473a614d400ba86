/**
 * `gateway replay`: decisions of another configuration on recorded requests.
 *
 * Policies are compiled and evaluated by the code of a running gateway. Records with missing facts are counted, never
 * guessed; so are unreadable lines.
 */
import { createDigests } from "../../audit/replay/digests.ts";
import { readRecord } from "../../audit/replay/read-record.ts";
import { createVocabulary } from "../../audit/replay/vocabulary.ts";
import type { CheckedConfig } from "../../config/load.ts";
import { GatewayError } from "../../shared/errors.ts";
import { afterHistory, decideAgain, type NewConfiguration } from "./decide-again.ts";
import { HeldCalls } from "./held-calls.ts";
import { readRecordLines, sizeOf } from "./record-lines.ts";
import { createReplayRoutes } from "./routes.ts";
import { type ReplayPlace, startTally, type ReplayTally } from "./tally.ts";

/**
 * The exit codes of the command. partly: no decidable record would change, but some are undecidable, or some lines are
 * unreadable.
 */
export const REPLAY_EXIT = { same: 0, problem: 1, changed: 3, partly: 4 } as const;

export interface BrokenLine extends ReplayPlace {
  readonly problem: string;
}

export interface ReplayReport extends ReplayTally {
  readonly result: Exclude<keyof typeof REPLAY_EXIT, "problem">;
  /** Readable authorization records; the sum of `counts`. */
  readonly records: number;
  /** Lines of other logs. */
  readonly otherLines: number;
  readonly broken: number;
  /** The first broken lines. */
  readonly brokenLines: readonly BrokenLine[];
}

export interface ReplayInput {
  readonly files: readonly string[];
  readonly config: CheckedConfig;
  /** Key of the digests; undefined: unknown. */
  readonly key: Uint8Array | undefined;
  /** Made by `newConfiguration`; afterwards its history rules have the state after the records. */
  readonly into?: NewConfiguration;
  /** @param done bytes @param total bytes; 0 when that is not known */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

const MAX_BROKEN_LINES = 10;
/** There was no room to hold the call. */
const NOT_HELD = { decision: undefined, denials: [] };

/** @throws GatewayError `replay.unreadable`, `replay.nothing` */
export async function replay({
  files,
  config,
  key,
  progress,
  into = newConfiguration(config, key),
}: ReplayInput): Promise<ReplayReport> {
  const counting = startTally();
  const held = new HeldCalls();
  const brokenLines: BrokenLine[] = [];
  let broken = 0;
  let otherLines = 0;
  const sizes = await Promise.all(files.map(sizeOf));
  const total = sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
  let before = 0;

  for (const [index, file] of files.entries()) {
    const breakAt = (line: number, problem: string): void => {
      broken += 1;
      if (brokenLines.length < MAX_BROKEN_LINES) brokenLines.push({ file, line, problem });
    };
    await readRecordLines(file, {
      line(number, line) {
        const read = readRecord(line);
        if (read.kind === "other") {
          otherLines += 1;
          held.readOutcome(line);
        }
        if (read.kind === "broken") breakAt(number, read.problem);
        if (read.kind === "check") {
          try {
            const again = decideAgain(read.check, into);
            const place = { file, line: number };
            const { check } = read;
            if (again.open === undefined || !held.hold({ check, again, open: again.open, place }))
              counting.add(check, again.open ? afterHistory(check, again, NOT_HELD) : again, place);
          } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            breakAt(number, error.message);
          }
        }
      },
      progress: (done) => progress?.(before + done, total),
    });
    before += sizes[index] ?? 0;
  }

  await held.decide(({ check, place }, again) => counting.add(check, again, place));
  const tally = counting.tally();
  const { counts } = tally;
  const records = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (records === 0) {
    const rest = `${otherLines} other lines, ${broken} that cannot be read`;
    throw new GatewayError("replay.nothing", `Cannot replay: there is no authorization record, only ${rest}`);
  }
  const isPartial = counts.undecidable > 0 || broken > 0;
  const result = counts.gains + counts.loses > 0 ? "changed" : isPartial ? "partly" : "same";
  // Partial lines are reported late.
  const inOrder = brokenLines.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line);
  return { result, records, otherLines, broken, brokenLines: inOrder, ...tally };
}

export function newConfiguration(config: CheckedConfig, key: Uint8Array | undefined): NewConfiguration {
  const vocabulary = createVocabulary(key && createDigests(key));
  const asksForCertificates = config.boot.downstream_mtls !== undefined;
  return { vocabulary, asksForCertificates, routes: createReplayRoutes(config, vocabulary) };
}
