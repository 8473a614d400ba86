/** `gateway run`: serves until a signal arrives. */
import type { Gateway } from "./gateway.ts";
import { installLastResort } from "./workers/last-resort.ts";
import { isEveryAddress } from "./http/listener/listen.ts";
import { task } from "./shared/faults/guard.ts";

export interface RunOptions {
  readonly config: string;
  /** Number of serving processes; 1: this process serves. */
  readonly workers: number;
}

/** Time for remaining work after all parts have closed. */
const LEFT_OPEN_MS = 2_000;

/** Resolves with the exit code after SIGTERM or SIGINT and a drain. A second signal exits immediately. */
export async function runUntilSignal({ config, workers }: RunOptions): Promise<number> {
  const gateway = workers === 1 ? await startAlone(config) : await startWithWorkers(config, workers);
  // Before the "serving" line: a script that waits for it may send a signal immediately.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  // Log rotation: the file was renamed, so the next records need a new one.
  process.on(
    "SIGHUP",
    task("the reopening of logs", () => gateway.reopenLogs()),
  );
  console.error(servingText(gateway, workers));
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= gateway.close());
  installLastResort(close, gateway.closeTimeoutMs);
  await stopped;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
  await close();
  // A bug may leave a connection open, which would keep the process alive.
  setTimeout(() => process.exit(0), LEFT_OPEN_MS).unref();
  return 0;
}

type Served = Pick<Gateway, "origin" | "address" | "adminOrigin" | "reopenLogs" | "close" | "closeTimeoutMs">;

/** The line from which scripts learn that a gateway has started, and its address. */
export function servingText(
  { origin, address, adminOrigin }: Pick<Served, "origin" | "address" | "adminOrigin">,
  workers: number,
): string {
  const addresses = isEveryAddress(address) ? " and all other addresses of this host" : "";
  const by = workers === 1 ? "" : ` with ${workers} workers`;
  return `gateway serves on ${origin}${addresses}${by}, admin on ${adminOrigin}`;
}

// Each mode loads only its own modules.
async function startAlone(config: string): Promise<Served> {
  const { startGateway } = await import("./gateway.ts");
  return startGateway({ config });
}

async function startWithWorkers(config: string, workers: number): Promise<Served> {
  const { startSupervisor } = await import("./workers/supervisor.ts");
  return startSupervisor({ config, workers });
}
