/** A gateway that tells what it uses: `node --expose-gc sizing-child.ts CONFIG`, over IPC. */
import { startGateway } from "../../../runtime/gateway.ts";
import { createLog } from "../../../runtime/shared/log.ts";

export interface Usage {
  /** Bytes that live after a collection. */
  readonly heap: number;
  /** Bytes of the process, the validating thread included. */
  readonly resident: number;
  /** Microseconds of CPU since the start. */
  readonly cpu: number;
}

const gateway = await startGateway({ config: process.argv[2] ?? "", log: createLog({ level: "error" }) });
process.on("message", () => {
  // Before the collections, which no request asked for.
  const { user, system } = process.cpuUsage();
  // Twice: what the first finds dead may hold more.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external, resident: rss, cpu: user + system } satisfies Usage);
});
process.send?.({ port: gateway.port });
