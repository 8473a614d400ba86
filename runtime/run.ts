/** `gateway run`: serves until a signal says stop. */
import type { Gateway } from "./gateway.ts";
import { installLastResort } from "./workers/last-resort.ts";
import { isEveryAddress } from "./http/listener/listen.ts";
import { task } from "./shared/faults/guard.ts";

export interface RunOptions {
  readonly config: string;
  /** Processes that serve; with 1 there is no other than this one. */
  readonly workers: number;
}

/** Time for what ends by itself after all parts have closed. */
const LEFT_OPEN_MS = 2_000;

/** Resolves with the exit code after SIGTERM or SIGINT and a drain; a second signal ends the process at once. */
export async function runUntilSignal({ config, workers }: RunOptions): Promise<number> {
  const gateway = workers === 1 ? await startAlone(config) : await startWithWorkers(config, workers);
  // Before it says that it serves: whoever waits for that may send a signal at once.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  // Log rotation: the file was renamed, the next records go to a new one.
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
  // A fault may have left a connection open, which would keep the process.
  setTimeout(() => process.exit(0), LEFT_OPEN_MS).unref();
  return 0;
}

type Served = Pick<Gateway, "origin" | "address" | "adminOrigin" | "reopenLogs" | "close" | "closeTimeoutMs">;

/** The line by which scripts learn that a gateway has started, and where. */
export function servingText(
  { origin, address, adminOrigin }: Pick<Served, "origin" | "address" | "adminOrigin">,
  workers: number,
): string {
  const addresses = isEveryAddress(address) ? " and all other addresses of this host" : "";
  const by = workers === 1 ? "" : ` with ${workers} workers`;
  return `gateway serves on ${origin}${addresses}${by}, admin on ${adminOrigin}`;
}

// The one serves and the other has those who do: neither loads what only the other needs.
async function startAlone(config: string): Promise<Served> {
  const { startGateway } = await import("./gateway.ts");
  return startGateway({ config });
}

async function startWithWorkers(config: string, workers: number): Promise<Served> {
  const { startSupervisor } = await import("./workers/supervisor.ts");
  return startSupervisor({ config, workers });
}
