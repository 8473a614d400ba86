/**
 * `node test/bench/burst.ts`: what becomes of many requests that come at the same time, while the gateway has a part of a core.
 * Gateway, upstream and clients are processes of their own; the gateway's share is a quota of the `cpu` control group, which
 * needs root. nginx, where it is installed, serves the same bursts with the same quota.
 *
 *   --counts 500,2000,10000  --shares 100,50,20 (percent of a core)  --only web,mcp,sign-ins,tls,grpc  --connected
 *   --checkout DIR  the gateway of another work tree
 *   --connected     clients open their connections first, so that all requests arrive within a few milliseconds
 *
 * Read counts and ratios, not seconds: other work on the machine changes those.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { stringify } from "yaml";

import { makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { freePort } from "../support/ports.ts";
import { type Child, startChild } from "./common/child.ts";
import { startGateway } from "./common/gateway.ts";
import { messageRequest, webRequest } from "./common/requests.ts";
import { CLIENT_ADDRESSES, OPEN_FILES, runBurst } from "./common/run-burst.ts";
import { formatTable } from "./common/table.ts";
import type { BurstOptions, BurstResult } from "./parts/burst-child.ts";
import { NGINX } from "./peers/nginx.ts";
import { untilListening } from "./peers/peer.ts";

const { values } = parseArgs({
  options: {
    counts: { type: "string", default: "500,2000,10000" },
    shares: { type: "string", default: "100,50,20" },
    only: { type: "string" },
    connected: { type: "boolean", default: false },
    checkout: { type: "string" },
  },
});
const counts = values.counts.split(",").map(Number);
const shares = values.shares.split(",").map(Number);
const only = values.only?.split(",");

const TIMEOUT_MS = 60_000;
const PERIOD_US = 100_000;
const GROUP = "/sys/fs/cgroup/cpu/gateway-bench-burst";

interface Target {
  readonly name: string;
  readonly pid: number;
  readonly options: Omit<BurstOptions, "count" | "isConnected" | "addresses" | "timeoutMs">;
}

const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const closers: (() => Promise<unknown> | void)[] = [() => rm(directory, { recursive: true, force: true })];
try {
  mkdirSync(GROUP, { recursive: true });
  closers.unshift(() => rmdirSync(GROUP));
  await measure();
} finally {
  for (const close of closers) await close();
}

async function measure(): Promise<void> {
  const rows: string[][] = [];
  for (const target of await targets()) {
    setShare(target.pid, 100);
    // Compiles what the bursts run.
    for (let round = 0; round < 3; round += 1) await send(target, 500);
    for (const share of shares) {
      for (const count of counts) {
        setShare(target.pid, share);
        const { outcomes, ms, p50 } = await send(target, count);
        const told = Object.entries(outcomes).map(([outcome, many]) => `${many} x ${outcome}`);
        rows.push([target.name, `${share} %`, String(count), told.join(", "), String(p50), String(ms)]);
        console.log(rows.at(-1)?.join("  "));
      }
    }
    moveTo("/sys/fs/cgroup/cpu", target.pid);
  }
  console.log(`\n${formatTable(["", "of a core", "at once", "outcomes", "p50 ms", "last ms"], rows)}`);
}

async function targets(): Promise<readonly Target[]> {
  const isChosen = (...names: string[]): boolean => only === undefined || names.some((name) => only.includes(name));
  const all: Target[] = [];
  const hasNginx = existsSync(NGINX);
  if (isChosen("web", "mcp", "sign-ins")) {
    const upstream = await start(process.execPath, join(import.meta.dirname, "common/upstream.ts"));
    const gateway = await startGateway({
      directory,
      name: "clear",
      upstream: `http://127.0.0.1:${upstream.port}`,
      start: (_core, command, ...args) => start(command, ...args),
      logLevel: "error",
      ...(values.checkout !== undefined && { checkout: values.checkout }),
    });
    closers.unshift(gateway.close);
    const { port, pid } = gateway.child;
    const add = (name: string, request: string): void => {
      if (isChosen(name)) all.push({ name, pid, options: { kind: "http", port, secure: false, request } });
    };
    add("web", webRequest(port, gateway.cookie).toString("latin1"));
    add("mcp", messageRequest(port, gateway.bearer).toString("latin1"));
    const page = `GET /web/items HTTP/1.1\r\nhost: localhost:${port}\r\naccept: text/html\r\nsec-fetch-mode: navigate\r\n\r\n`;
    add("sign-ins", page);
    if (hasNginx && isChosen("web")) {
      const peer = await startNginx(`proxy_pass http://127.0.0.1:${upstream.port};`);
      all.push({ name: "web, nginx", pid: peer.pid, options: { ...all[0]!.options, port: peer.port } });
    }
  }
  if (isChosen("tls", "grpc")) {
    const upstream = await start(process.execPath, join(import.meta.dirname, "grpc.ts"), "upstream");
    const web = await start(process.execPath, join(import.meta.dirname, "common/upstream.ts"));
    const folder = await openCertificateFolder();
    closers.unshift(() => folder.close());
    const files = await folder.write("localhost", makeTestCertificate({ name: "localhost", dns: ["localhost"] }));
    const port = await freePort();
    const config = join(directory, "secure.yaml");
    const route = { from: `https://localhost:${port}`, allow_public_unauthenticated_access: true };
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
          { ...route, prefix: "/bench.Notes", to: `http://127.0.0.1:${upstream.port}`, http2: true },
          { ...route, prefix: "/web", to: `http://127.0.0.1:${web.port}` },
        ],
      }),
    );
    const program = join(import.meta.dirname, "common/full.ts");
    const { pid } = await start(process.execPath, program, config, ...(values.checkout ? [values.checkout] : []));
    const request = `GET /web/items HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`;
    const tls = { kind: "http", port, secure: true, request } as const;
    const grpc = { kind: "grpc", port, secure: true, request: "" } as const;
    if (isChosen("tls")) all.push({ name: "tls", pid, options: tls });
    if (isChosen("grpc")) all.push({ name: "grpc", pid, options: grpc });
    if (hasNginx) {
      const certificate = `ssl_certificate ${files.certificateFile}; ssl_certificate_key ${files.keyFile};`;
      const passes = `location /bench.Notes { grpc_pass grpc://127.0.0.1:${upstream.port}; }`;
      const peer = await startNginx(`proxy_pass http://127.0.0.1:${web.port};`, `${certificate} ${passes}`);
      const seen = { pid: peer.pid, name: "" };
      if (isChosen("tls")) all.push({ ...seen, name: "tls, nginx", options: { ...tls, port: peer.port } });
      if (isChosen("grpc")) all.push({ ...seen, name: "grpc, nginx", options: { ...grpc, port: peer.port } });
    }
  }
  return all;
}

async function startNginx(pass: string, secure?: string): Promise<Child> {
  const port = await freePort();
  const prefix = join(directory, `nginx-${port}`);
  mkdirSync(prefix);
  const listen = `127.0.0.1:${port} ${secure === undefined ? "" : "ssl http2"} backlog=4096`;
  await writeFile(
    join(prefix, "nginx.conf"),
    `daemon off; master_process off; pid ${prefix}/pid; error_log ${prefix}/error.log; worker_rlimit_nofile ${OPEN_FILES};
events { worker_connections ${OPEN_FILES}; }
http { access_log off; client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/f;
  uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s;
  server { listen ${listen}; ${secure ?? ""} location / { ${pass} proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`,
  );
  const child = await start("/bin/sh", "-c", `echo ${port}; exec ${NGINX} -p ${prefix} -c ${prefix}/nginx.conf`);
  await untilListening("nginx", port);
  return { ...child, port };
}

async function start(command: string, ...args: string[]): Promise<Child> {
  const limited = ["-c", `ulimit -n ${OPEN_FILES}; exec "$@"`, "sh", command, ...args];
  const child = await startChild("any", "/bin/sh", limited);
  closers.unshift(() => child.stop());
  return child;
}

function setShare(pid: number, percent: number): void {
  writeFileSync(join(GROUP, "cpu.cfs_period_us"), String(PERIOD_US));
  writeFileSync(join(GROUP, "cpu.cfs_quota_us"), String((percent * PERIOD_US) / 100));
  moveTo(GROUP, pid);
}

function moveTo(group: string, pid: number): void {
  writeFileSync(join(group, "cgroup.procs"), String(pid));
}

function send({ options }: Target, count: number): Promise<BurstResult> {
  return runBurst({
    ...options,
    count,
    addresses: CLIENT_ADDRESSES,
    isConnected: values.connected,
    timeoutMs: TIMEOUT_MS,
  });
}
