/**
 * What a gRPC call costs in the gateway, beside a GET over HTTP/2 on the same way: CPU of the gateway's process, calls each
 * second, and the same without the gateway. `node test/bench/grpc.ts [--rounds N (7)] [--seconds S (2)]`
 *
 * Client and upstream are node:http2 and not a gRPC library, which would cost more than what is measured.
 */
import { randomBytes } from "node:crypto";
import {
  connect,
  createServer,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { stringify } from "yaml";

import { makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { freePort } from "../support/ports.ts";
import { startChild } from "./common/child.ts";
import { cpuNanoseconds } from "./common/cpu.ts";
import { formatTable, median } from "./common/table.ts";

const { values, positionals } = parseArgs({
  options: { rounds: { type: "string", default: "7" }, seconds: { type: "string", default: "2" } },
  allowPositionals: true,
});
const AT_ONCE = 64;
const SESSIONS = 8;
/** One message of 64 bytes. */
const MESSAGE = Buffer.concat([Buffer.from([0, 0, 0, 0, 64]), Buffer.alloc(64, 97)]);

if (positionals[0] === "upstream") serveUpstream();
else await bench();

/** Answers POST with a message and trailers, as gRPC does, and GET with the same bytes. */
function serveUpstream(): void {
  const server = createServer();
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => {});
    if (headers[":method"] === "GET") {
      stream.respond({ ":status": 200, "content-type": "text/plain", "content-length": MESSAGE.length });
      stream.end(MESSAGE);
      return;
    }
    stream.resume();
    stream.once("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "" }));
      stream.end(MESSAGE);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
}

async function bench(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const folder = await openCertificateFolder();
  const files = await folder.write("localhost", makeTestCertificate({ name: "localhost", dns: ["localhost"] }));
  const upstream = await startChild("rest", process.execPath, [import.meta.filename, "upstream"]);
  const port = await freePort();
  const config = join(directory, "gateway.yaml");
  await writeFile(
    config,
    stringify({
      address: `127.0.0.1:${port}`,
      admin_address: "127.0.0.1:0",
      certificates: [{ certificate_file: files.certificateFile, certificate_key_file: files.keyFile }],
      development: true,
      shared_secret: randomBytes(32).toString("base64"),
      storage_url: "memory:",
      authorize_log: join(directory, "records.log"),
      log_level: "error",
      routes: [
        {
          from: `https://localhost:${port}`,
          to: `http://127.0.0.1:${upstream.port}`,
          http2: true,
          allow_public_unauthenticated_access: true,
        },
      ],
    }),
  );
  const gateway = await startChild("target", process.execPath, [join(import.meta.dirname, "common/full.ts"), config]);
  try {
    const direct = `http://127.0.0.1:${upstream.port}`;
    const through = `https://localhost:${port}`;
    const cases = [
      { name: "GET, direct", origin: direct, isCall: false },
      { name: "gRPC unary, direct", origin: direct, isCall: true },
      { name: "GET, through the gateway", origin: through, isCall: false },
      { name: "gRPC unary, through the gateway", origin: through, isCall: true },
    ];
    const figures = cases.map(() => ({ cpu: [] as number[], rate: [] as number[] }));
    for (let round = -1; round < Number(values.rounds); round += 1) {
      for (const [index, { origin, isCall }] of cases.entries()) {
        const before = cpuNanoseconds(gateway.pid);
        const seconds = round < 0 ? 1 : Number(values.seconds);
        const done = await load(origin, `localhost:${port}`, isCall, seconds * 1000);
        // The first round warms up.
        if (round < 0) continue;
        figures[index]?.cpu.push((cpuNanoseconds(gateway.pid) - before) / 1000 / done);
        figures[index]?.rate.push(done / seconds);
      }
    }
    const rows = cases.map(({ name, origin }, index) => [
      name,
      origin === direct ? "–" : `${median(figures[index]?.cpu ?? []).toFixed(1)} µs`,
      String(Math.round(median(figures[index]?.rate ?? []))),
    ]);
    console.log(formatTable(["", "CPU of the gateway per request", "requests/s"], rows));
  } finally {
    await gateway.stop();
    await upstream.stop();
    await folder.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** @returns how many were answered */
async function load(origin: string, authority: string, isCall: boolean, durationMs: number): Promise<number> {
  const end = performance.now() + durationMs;
  let done = 0;
  const sessions = Array.from({ length: SESSIONS }, () => connect(origin, { rejectUnauthorized: false }));
  const worker = async (session: ClientHttp2Session): Promise<void> => {
    while (performance.now() < end) {
      await (isCall ? call(session, authority) : get(session, authority));
      done += 1;
    }
  };
  await Promise.all(sessions.flatMap((session) => Array.from({ length: AT_ONCE / SESSIONS }, () => worker(session))));
  for (const session of sessions) session.destroy();
  return done;
}

function get(session: ClientHttp2Session, authority: string): Promise<void> {
  const stream = session.request({ ":path": "/bench.Notes/Say", ":authority": authority });
  return new Promise((resolve, reject) => {
    let status = 0;
    stream.on("response", (head) => (status = head[":status"] ?? 0));
    stream.on("error", reject);
    stream.on("close", () => (status === 200 ? resolve() : reject(new Error(`answered ${status}`))));
    stream.resume();
  });
}

function call(session: ClientHttp2Session, authority: string): Promise<void> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/bench.Notes/Say",
    ":authority": authority,
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": "10S",
  });
  stream.end(MESSAGE);
  return new Promise((resolve, reject) => {
    let trailers: IncomingHttpHeaders = {};
    stream.on("trailers", (fields) => (trailers = fields));
    stream.on("error", reject);
    stream.on("close", () =>
      trailers["grpc-status"] === "0" ? resolve() : reject(new Error(`ended with ${String(trailers["grpc-status"])}`)),
    );
    stream.resume();
  });
}
