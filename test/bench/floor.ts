/**
 * `node test/bench/floor.ts`: what it costs Node to carry a request and its answer at all, beside the gateway and others.
 *
 *   --rounds N (7)   --seconds S (1)
 *
 * The relay has the same four calls of sockets for a request, by the same public API, and reads nothing of what it carries: no
 * proxy on Node can cost less. What the gateway takes above it is the gateway's own.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

import { startChild } from "./common/child.ts";
import { load } from "./common/load.ts";
import { measureRounds } from "./common/rounds.ts";
import { formatTable, median } from "./common/table.ts";
import { startTargets } from "./common/targets.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "7" }, seconds: { type: "string", default: "1" } },
});
const CONNECTIONS = 64;

const bench = await startTargets({ peers: ["fastify", "nginx", "haproxy-jwt", "apache-oidc"] });
const program = join(import.meta.dirname, "parts/relay.ts");
const relay = await startChild("target", process.execPath, [program, String(bench.upstreamPort)]);
try {
  for (const { name: workload, title } of bench.workloads) {
    // What others pass on, the relay does, too.
    const plain = bench.targets.find(({ name }) => name === "fastify")?.requests[workload] ?? Buffer.alloc(0);
    const targets = [
      { name: "relay", pid: relay.pid, port: relay.port, request: plain },
      ...bench.targets.map(({ name, pid, port, requests }) => ({
        name,
        pid,
        port,
        request: requests[workload] ?? plain,
      })),
    ];
    const cases = targets.map(({ name, pid, port, request }) => ({
      name,
      pid,
      run: (durationMs: number) => load({ port, request, connections: CONNECTIONS, durationMs }),
    }));
    const durationMs = Number(values.seconds) * 1000;
    const samples = await measureRounds(cases, {
      rounds: Number(values.rounds),
      durationMs,
      warmUpMs: 1500,
      isMirrored: true,
    });
    console.log(
      formatTable(
        [title, "CPU µs a request", "errors"],
        samples.map(({ name, cpuMicros, errors }) => [name, median(cpuMicros).toFixed(1), String(errors)]),
      ),
    );
  }
} finally {
  await relay.stop();
  await bench.close();
}
