/** From starting the built program to its first answer beside `node -e 0`, by start.ts, which is a program of its own. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { barPlot } from "../../support/plot/bar-plot.ts";
import { pairedRatios, type Spread, spreadOf } from "../common/statistics.ts";
import { fixed, type ReportOptions, type Section } from "./sections.ts";

const ROOT = join(import.meta.dirname, "../../..");

interface Sample {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly residentMebibytes: number;
}

export interface StartFigures {
  readonly node: readonly Sample[];
  readonly one: readonly Sample[];
  readonly many: readonly Sample[];
  readonly oneToNode: Spread;
  readonly manyToOne: Spread;
  readonly oneResident: Spread;
  readonly manyResident: Spread;
}

export async function measureStart(options: ReportOptions): Promise<{ figures: StartFigures; section: Section }> {
  const { rounds, progress } = options;
  progress("building");
  execFileSync(process.execPath, [join(ROOT, "runtime/package/build.ts")], { cwd: ROOT, stdio: "ignore" });
  progress("start");
  const program = [process.execPath, join(ROOT, "test/bench/start.ts"), "--json", "--rounds", String(rounds)];
  const [command = "", ...args] = existsSync("/usr/bin/taskset")
    ? ["/usr/bin/taskset", "-c", "0", ...program]
    : program;
  const { stdout } = await promisify(execFile)(command, args);
  // JSON has no NaN: what `node -e 0` keeps in memory is null.
  const [node, one, many] = (JSON.parse(stdout) as { readonly starts: readonly Sample[] }[]).map(
    ({ starts }) => starts,
  );
  if (!node || !one || !many) throw new Error(`Cannot read the figures of start.ts: ${stdout.slice(0, 200)}`);
  const wall = (samples: readonly Sample[]): number[] => samples.map(({ wallMs }) => wallMs);
  const resident = (samples: readonly Sample[]): number[] => samples.map((each) => each.residentMebibytes);
  const figures: StartFigures = {
    node,
    one,
    many,
    oneToNode: spreadOf(pairedRatios(wall(one), wall(node))),
    manyToOne: spreadOf(pairedRatios(wall(many), wall(one))),
    oneResident: spreadOf(resident(one)),
    manyResident: spreadOf(resident(many)),
  };
  return { figures, section: sectionOf(figures) };
}

function sectionOf({ node, one, many, oneToNode, manyToOne, oneResident, manyResident }: StartFigures): Section {
  const wall = (samples: readonly Sample[]): Spread => spreadOf(samples.map(({ wallMs }) => wallMs));
  const row = (name: string, samples: readonly Sample[], resident?: Spread): readonly string[] => {
    const { median: value, low, high } = wall(samples);
    const cpu = fixed(spreadOf(samples.map(({ cpuMs }) => cpuMs)).median, 0);
    return [
      name,
      fixed(value, 0),
      `${fixed(low, 0)} – ${fixed(high, 0)}`,
      cpu,
      resident ? fixed(resident.median, 0) : "",
    ];
  };
  const bars = (
    [
      ["node -e 0", node, 6],
      ["one route", one, 1],
      ["1,000 routes", many, 1],
    ] as const
  ).map(([name, samples, colour]) => {
    const { median: value, low, high } = wall(samples);
    return { name, colour, value, low, high };
  });
  return {
    name: "start",
    title: "Start",
    about: [
      "From the command of the built program (dist/, as the package has it) to serving, on one core, in turn with `node -e 0`; the store is in memory, routes come from a published slice in a file. Resident memory 3 s later. By test/bench/start.ts.",
    ],
    tables: [
      {
        header: ["", "ms", "half of the rounds", "CPU ms", "resident MiB"],
        rows: [
          row("node -e 0", node),
          row("one route", one, oneResident),
          row("1,000 routes", many, manyResident),
          [
            "one route ÷ node -e 0",
            fixed(oneToNode.median, 1),
            `${fixed(oneToNode.low)} – ${fixed(oneToNode.high)}`,
            "",
            "",
          ],
          [
            "1,000 routes ÷ one",
            fixed(manyToOne.median, 2),
            `${fixed(manyToOne.low, 2)} – ${fixed(manyToOne.high, 2)}`,
            "",
            "",
          ],
        ],
      },
    ],
    plots: [barPlot({ title: "From the command to serving", xTitle: "ms", groups: [{ name: "", bars }] })],
    figures: { node, one, many, oneToNode, manyToOne, oneResident, manyResident },
  };
}
