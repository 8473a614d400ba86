/**
 * What the gateway costs beside what it decides: TLS and HTTP/2 in CPU time, latency added to one request at a time, and
 * what reloads do to the slowest requests. One route open to everybody among many, before one upstream.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

import { makeTestCertificate, openCertificateFolder } from "../../support/certificates.ts";
import { freePort } from "../../support/ports.ts";
import { startChild, type Child } from "../common/child.ts";
import { cpuNanoseconds } from "../common/cpu.ts";
import { loadHttp2 } from "../common/load-http2.ts";
import { load, type LoadResult } from "../common/load.ts";
import { startNginx } from "../peers/nginx.ts";
import { median } from "../common/table.ts";

export interface TransportFigures {
  /** CPU µs per request of the gateway's process, by protocol. */
  readonly protocols: readonly {
    readonly name: string;
    readonly cpuMicros: number;
    readonly requestsPerSecond: number;
  }[];
  /** One request at a time, in microseconds. */
  readonly latencies: readonly { readonly name: string; readonly p50: number; readonly p99: number }[];
  /** p99 of a steady load, median of the rounds. */
  readonly reloads: { readonly withoutMicros: number; readonly withMicros: number; readonly reloads: number };
}

export interface TransportOptions {
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
}

const here = import.meta.dirname;
const ROUTES = 1000;
const RELOAD_EVERY_MS = 5_000;
const STEADY_CONNECTIONS = 16;
const STEADY_PAUSE_MS = 20;

export async function benchTransports(options: TransportOptions): Promise<TransportFigures> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const folder = await openCertificateFolder();
  const children: Child[] = [];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    children.push(child);
    return child;
  };
  try {
    const upstream = await start("rest", process.execPath, join(here, "../common/upstream.ts"));
    const origin = `http://127.0.0.1:${upstream.port}`;
    const bare = await start("target", process.execPath, join(here, "../peers/bare.ts"), origin);
    const nginx = existsSync("/usr/sbin/nginx") ? await startNginx(directory, upstream.port, start) : undefined;

    const files = await folder.write("localhost", makeTestCertificate({ name: "localhost", dns: ["localhost"] }));
    const clear = await startOpenGateway(directory, origin, start);
    const secure = await startOpenGateway(directory, origin, start, files);

    const protocols = await measureProtocols(options, clear, secure);
    const latencies = [];
    for (const [name, port] of [
      ["upstream itself", upstream.port],
      ...(nginx ? ([["nginx", nginx.port]] as const) : []),
      ["bare", bare.port],
      ["gateway", clear.port],
    ] as const) {
      const request = getRequest(port);
      await load({ port, request, connections: 1, durationMs: 500 });
      const { p50, p99 } = await load({ port, request, connections: 1, durationMs: options.durationMs });
      latencies.push({ name, p50, p99 });
    }
    return { protocols, latencies, reloads: await measureReloads(options.rounds, clear, origin) };
  } finally {
    for (const child of children) await child.stop();
    await folder.close();
    await rm(directory, { recursive: true, force: true });
  }
}

interface OpenGateway extends Child {
  readonly config: string;
}

type Start = (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>;

async function startOpenGateway(
  directory: string,
  upstream: string,
  start: Start,
  files?: { readonly certificateFile: string; readonly keyFile: string },
): Promise<OpenGateway> {
  const port = await freePort();
  const config = join(directory, files ? "secure.yaml" : "clear.yaml");
  const listener = files
    ? `certificates: [{ certificate_file: ${files.certificateFile}, certificate_key_file: ${files.keyFile} }]`
    : "insecure_server: true";
  const boot = `address: 127.0.0.1:${port}
admin_address: 127.0.0.1:0
${listener}
development: true
shared_secret: ${randomBytes(32).toString("base64")}
storage_url: "memory:"
authorize_log: ${join(directory, "records.log")}
log_level: error
`;
  await writeFile(`${config}.boot`, boot);
  await writeConfiguration(config, boot, { port, upstream, mark: "first", secure: files !== undefined });
  const child = await start("target", process.execPath, join(here, "../common/full.ts"), config);
  return { ...child, port, config };
}

async function writeConfiguration(
  path: string,
  boot: string,
  { port, upstream, mark, secure }: { port: number; upstream: string; mark: string; secure: boolean },
): Promise<void> {
  const scheme = secure ? "https" : "http";
  const route = (name: string, host: string): string =>
    `  - { name: ${name}, from: "${scheme}://${host}", to: "${upstream}", policy: [{ allow: { or: [{ accept: true }] } }], set_response_headers: { X-Mark: ${mark} } }\n`;
  const others = Array.from({ length: ROUTES - 1 }, (_, index) => route(`other-${index}`, `app-${index}.example.com`));
  await writeFile(`${path}.new`, `${boot}routes:\n${route("open", `localhost:${port}`)}${others.join("")}`);
  await rename(`${path}.new`, path);
}

async function measureProtocols(
  { rounds, durationMs, connections }: TransportOptions,
  clear: Child,
  secure: Child,
): Promise<TransportFigures["protocols"]> {
  const overTls = (): ReturnType<typeof connectTls> =>
    connectTls({ host: "127.0.0.1", port: secure.port, servername: "localhost", rejectUnauthorized: false });
  const cases: readonly { name: string; target: Child; run: (ms: number) => Promise<LoadResult> }[] = [
    {
      name: "HTTP/1.1 in the clear",
      target: clear,
      run: (ms) => load({ port: clear.port, request: getRequest(clear.port), connections, durationMs: ms }),
    },
    {
      name: "HTTP/1.1 over TLS 1.3",
      target: secure,
      run: (ms) =>
        load({ port: secure.port, request: getRequest(secure.port), connections, durationMs: ms, connect: overTls }),
    },
    {
      name: "HTTP/2 over TLS 1.3",
      target: secure,
      run: (ms) => loadHttp2({ port: secure.port, path: "/items", requests: connections, durationMs: ms }),
    },
  ];
  const rows = cases.map(() => ({ cpu: [] as number[], rate: [] as number[] }));
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, { target, run }] of cases.entries()) {
      const before = cpuNanoseconds(target.pid);
      const result = await run(round < 0 ? 1000 : durationMs);
      if (result.errors > 0) throw new Error(`${result.errors} requests failed`);
      if (round < 0) continue; // warm-up
      rows[index]?.cpu.push((cpuNanoseconds(target.pid) - before) / 1000 / Math.max(1, result.requests));
      rows[index]?.rate.push(result.requests / result.seconds);
    }
  }
  return cases.map(({ name }, index) => ({
    name,
    cpuMicros: Number(median(rows[index]?.cpu ?? []).toFixed(1)),
    requestsPerSecond: Math.round(median(rows[index]?.rate ?? [])),
  }));
}

/** Two periods a round: one without a reload, one in which every route changes every 5 s. */
async function measureReloads(
  rounds: number,
  gateway: OpenGateway,
  upstream: string,
): Promise<TransportFigures["reloads"]> {
  const { port, config } = gateway;
  const boot = await readFile(`${config}.boot`, "utf8");
  const without: number[] = [];
  const withReloads: number[] = [];
  let reloads = 0;
  const period = (): Promise<LoadResult> =>
    load({
      port,
      request: getRequest(port),
      connections: STEADY_CONNECTIONS,
      durationMs: RELOAD_EVERY_MS * 2,
      pauseMs: STEADY_PAUSE_MS,
    });
  for (let round = 0; round < rounds; round += 1) {
    without.push((await period()).p99);
    const ended = new AbortController();
    const changing = (async () => {
      while (!ended.signal.aborted) {
        reloads += 1;
        await writeConfiguration(config, boot, { port, upstream, mark: `mark-${reloads}`, secure: false });
        await delay(RELOAD_EVERY_MS, undefined, { signal: ended.signal }).catch(() => {});
      }
    })();
    const result = await period();
    ended.abort();
    await changing;
    if (result.errors > 0) throw new Error(`${result.errors} requests failed during reloads`);
    withReloads.push(result.p99);
  }
  return { withoutMicros: median(without), withMicros: median(withReloads), reloads };
}

function getRequest(port: number): Buffer {
  return Buffer.from(
    `GET /items HTTP/1.1\r\nhost: localhost:${port}\r\nuser-agent: bench/1.0\r\naccept: application/json\r\n\r\n`,
  );
}
