/**
 * Lifecycle of a Terraform plugin: started by Terraform, bound to it, and ended with it.
 *
 * Trusted: the environment that Terraform sets (above all its certificate). Untrusted: other users of this host. Hence a
 * socket in a private directory, and TLS with certificates on both sides.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeCertificate } from "./certificate.ts";
import { createProviderLog } from "./provider-log.ts";
import type { Provider } from "./provider.ts";
import { serveProvider } from "./server.ts";

const COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
const CORE_PROTOCOL = 1;
const PROVIDER_PROTOCOL = 6;
/** Interval for checking that Terraform lives: an orphan would keep its socket and memory forever. */
const WATCHDOG_MS = 1000;
/** Time for sending the last response. Terraform kills the process soon after anyway. */
const SHUTDOWN_GRACE_MS = 20;

export type HandshakeRefusal = "by-hand" | "protocol" | "no-certificate" | "platform";

type Environment = Readonly<Record<string, string | undefined>>;

/** The reason why this process cannot serve; undefined when Terraform started it correctly. */
export function refuseStart(env: Environment, platform: NodeJS.Platform): HandshakeRefusal | undefined {
  if (env["TF_PLUGIN_MAGIC_COOKIE"] !== COOKIE) return "by-hand";
  const versions = (env["PLUGIN_PROTOCOL_VERSIONS"] ?? String(PROVIDER_PROTOCOL)).split(",");
  if (!versions.includes(String(PROVIDER_PROTOCOL))) return "protocol";
  // Otherwise any local user who finds the socket could apply in Terraform's name.
  if (!env["PLUGIN_CLIENT_CERT"]) return "no-certificate";
  // Terraform requires TCP there; a listener that is protected from other users is not implemented.
  if (platform === "win32") return "platform";
  return undefined;
}

/** The one line on standard output: versions, socket and our certificate, base64 without padding. */
export function handshakeLine(socketPath: string, certificate: Buffer): string {
  const encoded = certificate.toString("base64").replace(/=+$/, "");
  return `${CORE_PROTOCOL}|${PROVIDER_PROTOCOL}|unix|${socketPath}|grpc|${encoded}\n`;
}

/** Serves until Terraform sends a shutdown or disappears. Call it only when refuseStart() returned undefined. */
export async function servePlugin(provider: Provider, process: NodeJS.Process): Promise<void> {
  const log = createProviderLog((line) => void process.stderr.write(line), Date.now);
  const certificate = makeCertificate(Date.now());
  const directory = mkdtempSync(join(tmpdir(), "gwtf-"));
  const leave = (): void => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(0);
  };

  // Ctrl-C reaches the whole process group; Terraform decides about the running apply.
  process.on("SIGINT", () => {
    log.debug({}, "interrupt ignored, Terraform stops the provider");
  });
  process.on("SIGTERM", leave);
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) leave();
  }, WATCHDOG_MS).unref();

  const socketPath = join(directory, "s");
  const { privateKey, certificate: pem, der } = certificate;
  await serveProvider({
    provider,
    log,
    socketPath,
    tls: { privateKey, certificate: pem, clientCertificate: process.env["PLUGIN_CLIENT_CERT"] ?? "" },
    onShutdown: () => setTimeout(leave, SHUTDOWN_GRACE_MS),
  });
  process.stdout.write(handshakeLine(socketPath, der));
}
