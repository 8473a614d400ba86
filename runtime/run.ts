/** `gateway run`: serves until a signal says stop. */
import { startGateway } from "./gateway.ts";
import { startSupervisor } from "./control/workers/supervisor.ts";

export interface RunOptions {
  readonly config: string;
  /** Processes that serve; with 1 there is no other than this one. */
  readonly workers: number;
}

/** Resolves with the exit code after SIGTERM or SIGINT and a drain; a second signal ends the process at once. */
export async function runUntilSignal({ config, workers }: RunOptions): Promise<number> {
  const gateway = workers === 1 ? await startGateway({ config }) : await startSupervisor({ config, workers });
  const by = workers === 1 ? "" : ` with ${workers} workers`;
  console.error(`gateway serves on ${gateway.origin}${by}, admin on ${gateway.adminOrigin}`);
  // Log rotation: the file was renamed, the next records go to a new one.
  process.on("SIGHUP", () => gateway.reopenLogs());
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
  await gateway.close();
  return 0;
}
