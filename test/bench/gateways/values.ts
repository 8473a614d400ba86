/** Single values of a row, as tables and the plot have them. Pure. */
import type { WorkName } from "./contender.ts";
import type { Cell, Row, Run } from "./figures.ts";
import { EVENTS } from "./sizes.ts";
import { MANY } from "./works.ts";

export const OURS = "gateform";
/** Above this others had too much of the machine. */
const BUSY = 0.1;

export const HEADERS: Readonly<Record<WorkName, string>> = {
  get: "GET",
  mcp: "MCP call",
  tool: "MCP call, tool rule",
  list: "MCP list",
  sse: "event",
  routes: "GET, 1,000 routes",
  http2: "GET, HTTP/2",
};

export const cellOf = (row: Row, work: WorkName, connections = MANY): Cell | undefined =>
  row.works[work]?.cells[String(connections)];

/** Microseconds of processor time a request; of the stream, an event. */
export function cpuOf(row: Row, work: WorkName, connections = MANY): number | undefined {
  const cell = cellOf(row, work, connections);
  // The upstream alone has no process of its own here.
  if (cell === undefined || row.processes === 0) return undefined;
  return cell.cpuMicros.median / (work === "sse" ? EVENTS : 1);
}

const PLAIN: readonly WorkName[] = ["get", "mcp", "tool", "list", "sse"];

export const residentOf = (row: Row, works: readonly WorkName[] = PLAIN): number | undefined => {
  const values = works.flatMap((work) => Object.values(row.works[work]?.cells ?? {}));
  return values.length === 0 || row.processes === 0
    ? undefined
    : Math.max(...values.map(({ residentMebibytes }) => residentMebibytes));
};

/** Short, or with others on the machine. */
export const isRough = ({ isQuick, othersBefore, othersMeanwhile }: Run): boolean =>
  isQuick || Math.max(othersBefore, othersMeanwhile) > BUSY;
