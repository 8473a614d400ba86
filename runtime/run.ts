/** `gateway run`: serves until a signal says stop. */
import { startGateway } from "./gateway.ts";

/** Resolves with the exit code after SIGTERM or SIGINT and a drain; a second signal ends the process at once. */
export async function runUntilSignal(config: string): Promise<number> {
  const gateway = await startGateway({ config });
  console.error(`gateway serves on ${gateway.origin}, admin on ${gateway.adminOrigin}`);
  // Log rotation: the file was renamed, the next records go to a new one.
  process.on("SIGHUP", () => gateway.reopenLogs());
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
  await gateway.close();
  return 0;
}
