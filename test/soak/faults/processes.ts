/** Processes of the gateway that end or stand still. */
import { setTimeout as delay } from "node:timers/promises";

import { until } from "../../../examples/demo/until.ts";
import { WAITS_MS } from "../world/database.ts";
import type { SoakGateway } from "../world/gateways.ts";
import { always, type Fault, oneOf } from "./fault.ts";

/** What is open there breaks; its supervisor starts another one, and the others of the replica go on. */
export const WORKER_KILLED: Fault = {
  name: "worker-killed",
  disturbs: ["killed", "network"],
  lasts: [0, 0],
  briefly: 0,
  missing: always,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    const turn = random();
    return {
      replicas: [replica],
      async strike() {
        const workers = (await replica.workers()).filter(({ serving }) => serving);
        process.kill(oneOf(workers, () => turn).pid, "SIGKILL");
      },
      heal: () => allServe(replica),
    };
  },
};

/** All of its connections break; whoever comes is refused by it until it is started again, and finds the other replicas. */
export const REPLICA_KILLED: Fault = {
  name: "replica-killed",
  disturbs: ["killed", "network"],
  lasts: [1, 5],
  briefly: 0,
  missing: always,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    return {
      replicas: [replica],
      async strike() {
        replica.struck(true);
        await replica.kill();
      },
      async heal() {
        await replica.start();
        replica.struck(false);
      },
    };
  },
};

/** It answers nothing and loses nothing; leases that it holds run out meanwhile, and others take them. */
export const REPLICA_PAUSED: Fault = {
  name: "replica-paused",
  disturbs: ["stopped"],
  lasts: [30, 40],
  briefly: 2,
  missing: always,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    return {
      replicas: [replica],
      async strike() {
        replica.struck(true);
        replica.signal("SIGSTOP");
      },
      async heal() {
        replica.signal("SIGCONT");
        replica.struck(false);
      },
    };
  },
};

/** Every connection of clients breaks, in the middle of whatever it carries. Clients connect again. */
export const CLIENTS_CUT: Fault = {
  name: "clients-cut",
  disturbs: ["network"],
  lasts: [2, 4],
  briefly: 1,
  missing: always,
  aim(world) {
    return {
      replicas: world.replicas,
      async strike() {
        for (const replica of world.replicas) replica.clients.cut();
        await delay(500);
        for (const replica of world.replicas) replica.clients.cut();
      },
      async heal() {},
    };
  },
};

/** All of its workers serve. */
export async function allServe(replica: SoakGateway): Promise<void> {
  await until(
    async () => {
      const workers = await replica.workers();
      return workers.length > 0 && workers.every(({ serving }) => serving);
    },
    `all workers of ${replica.name} serve`,
    WAITS_MS,
  );
}
