/** A soak without faults, on another copy of the program: what its checks find. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { CHECKS } from "../checks/checks.ts";
import { tagOf } from "../checks/records.ts";
import { createRecorder } from "../history/history.ts";
import { startTraffic } from "../traffic/traffic.ts";
import { openWorld } from "../world/world.ts";

export interface ShortSoak {
  readonly program: string;
  readonly seconds: number;
  readonly seed: number;
}

/** @returns what is wrong, by the name of the check */
export async function soakShortly({
  program,
  seconds,
  seed,
}: ShortSoak): Promise<ReadonlyMap<string, readonly string[]>> {
  const world = await openWorld({
    store: "sqlite",
    replicas: 2,
    workers: 1,
    seed,
    program,
    wantsStandby: false,
    faketime: undefined,
    keep: undefined,
  });
  try {
    const history = createRecorder({ now: () => world.now() });
    const traffic = startTraffic(world, history);
    await delay(seconds * 1_000);
    world.end();
    await traffic.stop();
    await traffic.look();
    await Promise.all(world.replicas.map((replica) => replica.stop()));
    const { operations, faults } = history;
    const records = world.replicas.flatMap(({ name, recordsFile }) =>
      readFileSync(recordsFile, "utf8")
        .split("\n")
        .flatMap((line) => {
          const tag = tagOf(line);
          return tag === undefined ? [] : [{ replica: name, tag }];
        }),
    );
    const calls = world.upstreams.mcp.reached
      .filter(({ tool }) => tool === "delete_item")
      .map((each) => ({ tool: "delete_item", key: String((each.arguments as { readonly tag?: unknown }).tag) }));
    const evidence = { operations, faults, records, calls, sessionSeconds: world.lifetimes.sessionSeconds };
    return new Map(CHECKS.map((check) => [check.name, check.find(evidence).map(({ text }) => text)]));
  } finally {
    await world.close();
  }
}
