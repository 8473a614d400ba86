/**
 * Writes test/store/fixtures/upstream-records-v<N>.json: what the upstream side keeps, as this version of the program keeps
 * it, so that later versions prove that they still open it. Run once for each schema that is released, like
 * make-records-fixture.ts beside:
 *
 *     node test/store/make-upstream-fixture.ts 1
 *
 * Secrets in the file are those of tests and good for nothing else.
 */
import { writeFile } from "node:fs/promises";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { StoredRecord } from "../../runtime/store/store.ts";
import { createTestClock } from "../support/clock.ts";
import { remembering } from "./remembering.ts";
import { openUpstreamWorld, personNamed } from "./upstream-world.ts";

export interface UpstreamRecordsFixture {
  readonly nowMs: number;
  readonly records: readonly StoredRecord[];
  /** Of alice's flow at the static route, which is under way. */
  readonly state: string;
}

async function makeFixture(): Promise<UpstreamRecordsFixture> {
  const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  const kept = remembering(createMemoryStore({ clock }));
  const world = openUpstreamWorld(kept.store, clock);
  const begin = async (userId: string, route: "auto" | "static"): Promise<string> => {
    const target = world.target(route);
    const journey = { returnTo: "https://app.example.com/", routes: [target.route.key], back: "Back" };
    const begun = await world.flows.begin(personNamed(userId), target, world.snapshot.settings, journey);
    if (!begun.ok) throw new Error(`Cannot begin: ${begun.detail}`);
    return new URL(begun.url).searchParams.get("state") ?? "";
  };
  const connect = async (userId: string, route: "auto" | "static"): Promise<void> => {
    const state = await begin(userId, route);
    const parameters = new Map([
      ["state", state],
      ["code", `code-of-${userId}`],
    ]);
    const { host } = world.target(route).route;
    const completed = await world.flows.complete(personNamed(userId), host, parameters, world.snapshot);
    if (!completed.ok) throw new Error(`Cannot complete: ${completed.detail}`);
  };
  try {
    // Connected through the route's own client, and through a registration; and one that has ended.
    await connect("bob", "static");
    await connect("bob", "auto");
    await connect("carol", "static");
    await world.needs.send("bob", world.target("auto"), "read");
    await world.tokenStore.end("carol", world.target("static"), "refused");
    const state = await begin("alice", "static");
    return { nowMs: clock.now(), records: await kept.dump(), state };
  } finally {
    await world.close();
  }
}

if (import.meta.main) {
  const file = new URL(`fixtures/upstream-records-v${process.argv[2]}.json`, import.meta.url);
  // Never over an older one: it is what was released.
  await writeFile(file, `${JSON.stringify(await makeFixture(), null, 2)}\n`, { flag: "wx" });
}
