/** What was found while gateways were measured, and the rows that become of it. */
import type { Contender, WorkName } from "./contender.ts";
import type { Row, WorkFigures } from "./figures.ts";
import { PROGRAMS, versionOf } from "./programs.ts";
import type { Work } from "./works.ts";

export interface Found {
  readonly cells: Map<string, Map<WorkName, WorkFigures>>;
  readonly missing: Map<string, string>;
  readonly idle: Map<string, number>;
  readonly remarks: Map<string, string[]>;
  readonly processes: Map<string, number>;
}

export function emptyFindings(): Found {
  return { cells: new Map(), missing: new Map(), idle: new Map(), remarks: new Map(), processes: new Map() };
}

export async function rowOf(
  contender: Contender,
  works: readonly Work[],
  found: Found,
  rounds: number,
  absent: string | undefined,
): Promise<Row> {
  const { name, title, identity, policy, record, notes, programs, cannot } = contender;
  const measured = found.cells.get(name);
  const missing = absent ?? found.missing.get(name);
  const opened = openedBy(measured, roundsOf(contender, rounds));
  const idle = found.idle.get(name);
  return {
    name,
    title,
    versions: await Promise.all(programs.map(async (each) => versionOf(each).catch(() => PROGRAMS[each].from))),
    identity,
    policy,
    record,
    notes,
    showsAllTools: contender.showsAllTools === true,
    isSlow: contender.isSlow === true,
    ...(missing !== undefined && { missing }),
    remarks: [...(found.remarks.get(name) ?? []), ...(opened === undefined ? [] : [opened])],
    processes: found.processes.get(name) ?? 0,
    ...(idle !== undefined && { idleMillisPerSecond: idle }),
    works: Object.fromEntries(
      works.map(({ name: work }) => [
        work,
        measured?.get(work) ?? { cells: {}, missing: cannot[work] ?? missing ?? "not measured" },
      ]),
    ),
  };
}

export const roundsOf = ({ isSlow }: Contender, rounds: number): number => (isSlow ? Math.min(3, rounds) : rounds);

/** What a gateway that does not keep its connections costs is mostly the kernel's. */
function openedBy(works: ReadonlyMap<WorkName, WorkFigures> | undefined, rounds: number): string | undefined {
  const many = [...(works ?? [])].flatMap(([work, { cells }]) =>
    Object.entries(cells)
      // One for each of the clients' in each round, and a few.
      .filter(([count, cell]) => cell.upstreamConnections > Number(count) * rounds + cell.requests / 20)
      .map(([, cell]) => `${work} ${cell.upstreamConnections} for ${cell.requests} requests`),
  );
  return many.length === 0 ? undefined : `it does not keep all its connections to the upstream: ${many.join(", ")}`;
}
