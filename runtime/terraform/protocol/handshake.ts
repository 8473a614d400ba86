/**
 * Lifecycle of a Terraform plugin: started by Terraform, bound to it, and ended with it.
 *
 * Trusted: the environment that Terraform sets (above all its certificate). Untrusted: other users of this host. Hence TLS
 * with certificates on both sides, and a socket in a private directory; on Windows, where Terraform requires TCP, a port of
 * the loopback address.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { isRunning } from "../../shared/net/process-space.ts";
import { PROVIDER_PROTOCOL } from "../version.ts";
import { makeCertificate } from "./certificate.ts";
import { createProviderLog } from "./provider-log.ts";
import type { Provider } from "./provider.ts";
import { serveProvider } from "./server.ts";

const COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
const CORE_PROTOCOL = 1;
const MAJOR_PROTOCOL = String(Number.parseInt(PROVIDER_PROTOCOL, 10));
/** Interval for checking that Terraform lives: an orphan would keep its socket and memory forever. */
const WATCHDOG_MS = 1000;
/** Time for sending the last response. Terraform kills the process soon after anyway. */
const SHUTDOWN_GRACE_MS = 20;

export type HandshakeRefusal = "by-hand" | "protocol" | "no-certificate";

type Environment = Readonly<Record<string, string | undefined>>;

/** The reason why this process cannot serve; undefined when Terraform started it correctly. */
export function refuseStart(env: Environment): HandshakeRefusal | undefined {
  if (env["TF_PLUGIN_MAGIC_COOKIE"] !== COOKIE) return "by-hand";
  const versions = (env["PLUGIN_PROTOCOL_VERSIONS"] ?? MAJOR_PROTOCOL).split(",");
  if (!versions.includes(MAJOR_PROTOCOL)) return "protocol";
  // Otherwise any local user who finds the socket could apply in Terraform's name.
  if (!env["PLUGIN_CLIENT_CERT"]) return "no-certificate";
  return undefined;
}

/**
 * The one line on standard output: versions, address and our certificate, base64 without padding.
 *
 * @param address "unix|PATH" or "tcp|HOST:PORT"
 */
export function handshakeLine(address: string, certificate: Buffer): string {
  const encoded = certificate.toString("base64").replace(/=+$/, "");
  return `${CORE_PROTOCOL}|${MAJOR_PROTOCOL}|${address}|grpc|${encoded}\n`;
}

/** Serves until Terraform sends a shutdown or disappears. Call it only when refuseStart() returned undefined. */
export async function servePlugin(provider: Provider, process: NodeJS.Process): Promise<void> {
  const log = createProviderLog((line) => void process.stderr.write(line), Date.now);
  const certificate = makeCertificate(Date.now());
  const directory = process.platform === "win32" ? undefined : mkdtempSync(join(tmpdir(), "gwtf-"));
  const leave = (): void => {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    process.exit(0);
  };

  // Ctrl-C reaches the whole process group; Terraform decides about the running apply.
  process.on("SIGINT", () => {
    log.debug({}, "interrupt ignored, Terraform stops the provider");
  });
  process.on("SIGTERM", leave);
  const parent = process.ppid;
  setInterval(() => {
    // Windows keeps the parent's ID after its end.
    if (process.ppid !== parent || !isRunning(parent)) leave();
  }, WATCHDOG_MS).unref();

  const { privateKey, certificate: pem, der } = certificate;
  const { port } = await serveProvider({
    provider,
    log,
    listen: directory === undefined ? "127.0.0.1:0" : `unix:${join(directory, "s")}`,
    tls: { privateKey, certificate: pem, clientCertificate: process.env["PLUGIN_CLIENT_CERT"] ?? "" },
    onShutdown: () => setTimeout(leave, SHUTDOWN_GRACE_MS),
  });
  const address = directory === undefined ? `tcp|127.0.0.1:${port}` : `unix|${join(directory, "s")}`;
  process.stdout.write(handshakeLine(address, der));
}
