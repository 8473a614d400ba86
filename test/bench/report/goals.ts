/** What was aimed at, beside what was measured. Pure. */
import type { Samples } from "../common/rounds.ts";
import { pairedRatios, type Spread, spreadOf } from "../common/statistics.ts";
import { DOWNLOAD } from "../common/targets.ts";
import { type Compared, cpuRatio } from "./compare.ts";
import type { MemoryFigure } from "./memory.ts";
import { fixed, type Section } from "./sections.ts";
import type { StartFigures } from "./start.ts";

export interface Measured {
  readonly compared?: Compared;
  readonly oneAtATime?: readonly Samples[];
  readonly memory?: readonly MemoryFigure[];
  readonly start?: StartFigures;
}

export interface GoalRow {
  readonly what: string;
  /** Which way is better. */
  readonly aim: "more" | "less";
  readonly unit: string;
  readonly goal: number;
  readonly moonshot: number;
  readonly measured: Spread | undefined;
}

export function goalRows({ compared, oneAtATime, memory, start }: Measured): readonly GoalRow[] {
  const cpu = (workload: string, peer: string): Spread | undefined => cpuRatio(compared?.[workload], peer);
  const beside = (what: "p50" | "p99"): Spread | undefined => {
    const [ours, theirs] = ["gateway", "nginx"].map((name) => oneAtATime?.find((each) => each.name === name));
    return ours && theirs && spreadOf(pairedRatios(ours[what], theirs[what]));
  };
  const each = (what: MemoryFigure["what"]): Spread | undefined => {
    const found = memory?.find((figure) => figure.target === "gateway" && figure.what === what)?.kibibytes;
    return found === undefined ? undefined : { median: found, low: found, high: found };
  };
  const more = (what: string, goal: number, moonshot: number, measured: Spread | undefined): GoalRow => ({
    what,
    aim: "more",
    unit: "×",
    goal,
    moonshot,
    measured,
  });
  const less = (what: string, unit: string, goal: number, moonshot: number, measured: Spread | undefined): GoalRow => ({
    what,
    aim: "less",
    unit,
    goal,
    moonshot,
    measured,
  });
  return [
    more("GET with session, CPU beside nginx proxy_pass", 0.4, 0.5, cpu("get", "nginx")),
    more("MCP GET with External Token, beside nginx", 0.42, 0.5, cpu("mcp-get", "nginx")),
    more("POST tools/call of 4 KiB, beside nginx", 0.3, 0.35, cpu("mcp-post", "nginx")),
    more("GET, beside HAProxy verifying HS256 and logging JSON", 0.8, 1, cpu("get", "haproxy-jwt")),
    more("POST tools/call, beside the same", 0.5, 0.65, cpu("mcp-post", "haproxy-jwt")),
    more("GET, beside Apache with mod_auth_openidc", 3, 4, cpu("get", "apache-oidc")),
    more("POST tools/call, beside the same", 2, 2.5, cpu("mcp-post", "apache-oidc")),
    more("GET, beside @fastify/http-proxy doing nothing", 3, 3.5, cpu("get", "fastify")),
    more("POST tools/call, beside the same", 2.5, 3, cpu("mcp-post", "fastify")),
    more("1 MiB download, beside nginx", 0.6, 0.7, cpu(DOWNLOAD, "nginx")),
    less("one request at a time, p50 over nginx's", "×", 1.3, 1.1, beside("p50")),
    less("one request at a time, p99 over nginx's", "×", 1.5, 1.3, beside("p99")),
    less("idle client connection", " KiB", 8, 7, each("connections")),
    less("event stream, both sides together", " KiB", 32, 24, each("streams")),
    less("start to serving, one route, over node -e 0", "×", 8, 5, start?.oneToNode),
    less("the same with 1,000 routes, over one", "×", 1.4, 1.2, start?.manyToOne),
    less("resident after start, one route", " MiB", 110, 90, start?.oneResident),
    less("resident after start, 1,000 routes", " MiB", 140, 110, start?.manyResident),
  ];
}

/** Of the median: "moonshot", "goal", "" where neither is reached. */
export function reached({ aim, goal, moonshot, measured }: GoalRow): string {
  if (!measured) return "–";
  const isAt = (bound: number): boolean => (aim === "more" ? measured.median >= bound : measured.median <= bound);
  if (isAt(moonshot)) return "moonshot";
  return isAt(goal) ? "goal" : "not reached";
}

export function goalSection(measured: Measured): Section {
  const rows = goalRows(measured);
  const digits = (row: GoalRow): number => (row.unit === " MiB" ? 0 : row.unit === " KiB" ? 1 : 2);
  const value = (row: GoalRow, number: number | undefined): string =>
    number === undefined ? "–" : `${fixed(number, digits(row))}${row.unit}`;
  return {
    name: "goals",
    title: "Goals",
    about: [
      "CPU of the process tree a request, theirs over ours: above 1 the gateway takes less. In the rows below less is better. The median of the rounds, and what half of them lie between; a dash is what was not measured.",
    ],
    tables: [
      {
        header: ["", "median", "half of the rounds", "goal", "moonshot", "reached"],
        rows: rows.map((row) => [
          row.what,
          value(row, row.measured?.median),
          row.measured ? `${fixed(row.measured.low, digits(row))} – ${fixed(row.measured.high, digits(row))}` : "–",
          `${row.aim === "more" ? "≥" : "≤"} ${row.goal}${row.unit}`,
          `${row.aim === "more" ? "≥" : "≤"} ${row.moonshot}${row.unit}`,
          reached(row),
        ]),
      },
    ],
    plots: [],
    figures: rows.map((row) => ({ ...row, reached: reached(row) })),
  };
}
