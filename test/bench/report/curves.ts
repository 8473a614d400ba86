/** Processor time and requests a second against what requests and settings have more or less of. */
import { linePlot } from "../../support/plot/line-plot.ts";
import { load } from "../common/load.ts";
import { itemsRequest } from "../common/requests.ts";
import { type Case, measureRounds } from "../common/rounds.ts";
import { type Spread, spreadOf } from "../common/statistics.ts";
import type { Bench, Target } from "../common/targets.ts";
import { COLOUR_OF, fixed, type ReportOptions, type Section } from "./sections.ts";

export interface CurvePoint {
  readonly target: string;
  readonly x: number;
  readonly cpuMicros: Spread;
  readonly requestsPerSecond: Spread;
  readonly errors: number;
}

interface Curve {
  readonly name: string;
  readonly title: string;
  readonly xTitle: string;
  readonly about: string;
  readonly targets: readonly string[];
  readonly points: readonly number[];
  readonly quickPoints: readonly number[];
  readonly connections?: (x: number) => number;
  readonly request: (target: Target, x: number) => Buffer;
  readonly yAxis: "linear" | "factors";
  /** Requests a second, too: where they say something of their own. */
  readonly hasRate?: true;
}

const ALL = ["gateway", "nginx", "haproxy-jwt", "apache-oidc", "caddy", "fastify"];
const FOUR = ["gateway", "nginx", "haproxy-jwt", "fastify"];

const CURVES: readonly Curve[] = [
  {
    name: "connections",
    title: "Connections",
    xTitle: "connections with a request in flight each",
    about: "GET with a session, small JSON.",
    targets: ALL,
    points: [1, 8, 64, 256, 1024],
    quickPoints: [1, 64, 512],
    connections: (x) => x,
    request: ({ requests: { get = Buffer.alloc(0) } }) => get,
    yAxis: "factors",
    hasRate: true,
  },
  {
    name: "answer-bytes",
    title: "Size of answers",
    xTitle: "bytes of the answer",
    about: "GET with a session; 32 connections.",
    targets: FOUR,
    points: [100, 1000, 10_000, 100_000, 1_000_000],
    quickPoints: [100, 10_000, 1_000_000],
    connections: () => 32,
    request: ({ port, credential }, x) => itemsRequest(port, credential, `/web/bytes/${x}`),
    yAxis: "factors",
  },
  {
    name: "request-bytes",
    title: "Size of requests",
    xTitle: "bytes of the request's body",
    about:
      "POST with a session, small JSON back; 32 connections. nginx keeps bodies in memory here (client_body_buffer_size).",
    targets: FOUR,
    points: [100, 1000, 10_000, 100_000, 1_000_000],
    quickPoints: [100, 10_000, 1_000_000],
    connections: () => 32,
    request: ({ port, credential }, x) => postOf(port, "/web/items", credential, "text/plain", "x".repeat(x)),
    yAxis: "factors",
  },
  {
    name: "headers",
    title: "Headers",
    xTitle: "headers of the request",
    about: "GET with a session; each further header has a name of 12 and a value of 24 letters.",
    targets: FOUR,
    points: [8, 16, 32, 64],
    quickPoints: [8, 64],
    request: ({ port, credential }, x) => {
      const more = Array.from({ length: x - 8 }, (_, index) => `x-header-${100 + index}: ${"v".repeat(24)}`);
      return itemsRequest(port, [credential, ...more].join("\r\n"));
    },
    yAxis: "linear",
  },
];

export async function measureCurves(bench: Bench, options: ReportOptions): Promise<Section> {
  const figures: Record<string, readonly CurvePoint[]> = {};
  for (const curve of CURVES) figures[curve.name] = await measureCurve(curve, bench, options);
  return {
    name: "curves",
    title: "What costs more",
    about: [
      "Processor time a request against one thing at a time, all else as above; the bar at a point is what half of the rounds lie between.",
      ...CURVES.map(({ title, about }) => `${title}: ${about}`),
    ],
    tables: CURVES.map(({ name, title, xTitle }) => curveTable(title, xTitle, figures[name] ?? [])),
    plots: CURVES.flatMap((curve) => curvePlots(curve, figures[curve.name] ?? [])),
    figures,
  };
}

async function measureCurve(curve: Curve, bench: Bench, options: ReportOptions): Promise<readonly CurvePoint[]> {
  const { isQuick, connections, durationMs, rounds, progress } = options;
  const found: CurvePoint[] = [];
  const targets = bench.targets.filter(({ name }) => curve.targets.includes(name));
  for (const x of isQuick ? curve.quickPoints : curve.points) {
    progress(`${curve.title}: ${x}`);
    const cases: Case[] = targets.map((target) => {
      const request = curve.request(target, x);
      const many = curve.connections?.(x) ?? connections;
      const { name, pid, port } = target;
      return { name, pid, run: (ms) => load({ port, request, connections: many, durationMs: ms }) };
    });
    const half = { rounds: Math.max(2, Math.ceil(rounds / 2)), durationMs: durationMs / 2, warmUpMs: durationMs / 2 };
    found.push(...pointsOf(await measureRounds(cases, { ...half, isMirrored: true }), x));
  }
  return found;
}

function pointsOf(samples: Awaited<ReturnType<typeof measureRounds>>, x: number): readonly CurvePoint[] {
  return samples.map(({ name, cpuMicros, requestsPerSecond, errors }) => ({
    target: name,
    x,
    cpuMicros: spreadOf(cpuMicros),
    requestsPerSecond: spreadOf(requestsPerSecond),
    errors,
  }));
}

function curvePlots({ title, xTitle, yAxis, hasRate }: Curve, points: readonly CurvePoint[]): readonly string[] {
  const names = [...new Set(points.map(({ target }) => target))];
  const linesOf = (what: "cpuMicros" | "requestsPerSecond") =>
    names.map((name) => ({
      name,
      colour: COLOUR_OF[name] ?? 6,
      points: points
        .filter(({ target }) => target === name)
        .map(({ x, [what]: { median: y, low, high } }) => ({ x, y, low, high })),
    }));
  const cpu = linePlot({
    title,
    xTitle,
    yTitle: "CPU µs a request",
    xAxis: "factors",
    yAxis,
    lines: linesOf("cpuMicros"),
  });
  if (!hasRate) return [cpu];
  const lines = linesOf("requestsPerSecond");
  return [
    cpu,
    linePlot({
      title: `${title}: throughput`,
      xTitle,
      yTitle: "requests a second",
      xAxis: "factors",
      yAxis: "linear",
      lines,
    }),
  ];
}

function curveTable(title: string, xTitle: string, points: readonly CurvePoint[]): Section["tables"][number] {
  const names = [...new Set(points.map(({ target }) => target))];
  const xs = [...new Set(points.map(({ x }) => x))];
  const rows = xs.map((x) => [
    x.toLocaleString("en"),
    ...names.map((name) => {
      const point = points.find((each) => each.target === name && each.x === x);
      if (!point) return "–";
      const failed = point.errors > 0 ? `, ${point.errors} errors` : "";
      return `${fixed(point.cpuMicros.median)} (${Math.round(point.requestsPerSecond.median).toLocaleString("en")}/s${failed})`;
    }),
  ]);
  return { caption: `${title}: CPU µs a request (requests/s)`, header: [xTitle, ...names], rows };
}

function postOf(port: number, path: string, credential: string, type: string, body: string): Buffer {
  const accept = "accept: application/json, text/event-stream\r\nuser-agent: bench/1.0\r\nx-debug: 1";
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: localhost:${port}\r\n${accept}\r\n${credential}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
