/**
 * Pebble, the test server of RFC 8555, with its DNS server: a certificate authority on loopback that validates the hosts of a
 * test at ports of the test. Each test run has its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { makeTestCertificate } from "./certificates.ts";
import { freePort } from "./ports.ts";

export interface Pebble {
  /** URL of the directory. */
  readonly directory: string;
  /** PEM file of the authority of the directory's own certificate. */
  readonly caFile: string;
  /** External account binding, which every account needs. */
  readonly externalAccount: { readonly keyId: string; readonly hmacKey: string };
  /** Root of the issued certificates (PEM). */
  readonly root: string;
  /** Origin of its management address. */
  readonly management: string;
  /** Root of its own certificate (PEM). */
  readonly ownRoot: string;
  /** Where validations arrive, to be passed on. */
  readonly tls: Forwarder;
  readonly http: Forwarder;
  /** What it logged. */
  log(): string;
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface PebbleProgram {
  readonly program: string;
  readonly dns: string;
  /** Its arguments for an address, which differ between versions. */
  readonly dnsArguments: (address: string) => readonly string[];
}

/** The installed programs, the reason why there are none, or an error where they are required. */
export function findPebble(): PebbleProgram | { readonly missing: string } {
  const newer = process.env["GATEWAY_PEBBLE"];
  const folder = newer ?? "/usr/bin";
  const dnsArguments = (address: string): readonly string[] =>
    newer === undefined ? ["-dns01", address] : ["-dnsserver", address, "-doh", ""];
  const found = { dnsArguments, program: join(folder, "pebble"), dns: join(folder, "pebble-challtestsrv") };
  if (existsSync(found.program) && existsSync(found.dns)) return found;
  const missing = `no pebble in ${folder} (Debian package pebble)`;
  if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(`${missing}, and GATEWAY_REQUIRE_ALL is set`);
  return { missing };
}

const MAC_KEY = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";

export async function startPebble({ program, dns, dnsArguments }: PebbleProgram): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-pebble-"));
  const authority = makeTestCertificate({ name: "pebble authority", isAuthority: true });
  const shown = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const caFile = file("ca.crt", authority.cert);
  const [tls, http] = await Promise.all([startForwarder(), startForwarder()]);
  const [port, management, dnsPort, dnsManagement] = await Promise.all([1, 2, 3, 4].map(() => freePort()));
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: file("own.crt", shown.cert),
      privateKey: file("own.key", shown.key),
      httpPort: http.port,
      tlsPort: tls.port,
      externalAccountBindingRequired: true,
      externalAccountMACKeys: { "kid-1": MAC_KEY },
    },
  };
  const names = spawn(
    dns,
    [
      "-defaultIPv4",
      "127.0.0.1",
      ...["-defaultIPv6", "-http01", "-tlsalpn01", "-https01"].flatMap((name) => [name, ""]),
      ...dnsArguments(`127.0.0.1:${dnsPort}`),
      "-management",
      `127.0.0.1:${dnsManagement}`,
    ],
    { stdio: "ignore" },
  );
  const server = spawn(
    program,
    ["-config", file("config.json", JSON.stringify(config)), "-strict", "-dnsserver", `127.0.0.1:${dnsPort}`],
    // One in ten nonces is rejected, as authorities do when they are restarted.
    { env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "10" }, stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (part) => (log += String(part)));
  const stop = (): Promise<void> => end(server);
  const close = async (): Promise<void> => {
    await Promise.all([stop(), end(names), tls.close(), http.close()]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const root = await until(() => fetchText(`https://localhost:${management}/roots/0`, authority.cert), server);
    const directory = `https://localhost:${port}/dir`;
    await until(() => fetchText(directory, authority.cert), server);
    const externalAccount = { keyId: "kid-1", hmacKey: MAC_KEY };
    const own = { management: `https://localhost:${management}`, ownRoot: authority.cert };
    return { directory, caFile, externalAccount, root, ...own, tls, http, log: () => log, stop, close };
  } catch (error) {
    await close();
    throw new Error(`pebble did not start: ${log}`, { cause: error });
  }
}

export interface Forwarder {
  readonly port: number;
  /** Ports to which connections go in turn; none: they are closed. */
  targets: readonly number[];
  close(): Promise<void>;
}

/** A TCP load balancer without affinity. */
async function startForwarder(): Promise<Forwarder> {
  const open = new Set<Socket>();
  let turn = 0;
  const server: Server = createServer((socket) => {
    const target = forwarder.targets[turn++ % Math.max(1, forwarder.targets.length)];
    if (target === undefined) {
      socket.destroy();
      return;
    }
    const other = connect(target, "127.0.0.1");
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => two.destroy()).on("close", () => open.delete(one));
    }
    socket.pipe(other).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const forwarder: Forwarder = {
    port,
    targets: [],
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
  return forwarder;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function until(read: () => Promise<string>, server: ChildProcess): Promise<string> {
  for (let attempt = 0; attempt < 600 && server.exitCode === null; attempt += 1) {
    const text = await read().catch(() => undefined);
    if (text !== undefined) return text;
    await delay(50);
  }
  throw new Error("no response");
}

function fetchText(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += String(part))).on("end", () => resolve(text));
    }).on("error", reject);
  });
}
