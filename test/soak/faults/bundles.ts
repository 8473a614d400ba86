/** What happens to the configuration while it is in force. */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { stringify } from "yaml";

import { always, type Aimed, type Fault, oneOf } from "./fault.ts";
import type { SoakWorld } from "../world/world.ts";

/** The last good configuration stays in force; what is published is in the store. */
export const BUNDLE_DELETED: Fault = {
  name: "bundle-deleted",
  disturbs: ["bundle"],
  lasts: [3, 8],
  briefly: 1,
  missing: always,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    const aside = `${replica.directory}.aside`;
    return {
      replicas: [replica],
      detail: "emptied first, then gone",
      async strike() {
        renameSync(replica.directory, aside);
        mkdirSync(replica.directory);
        rmSync(replica.directory, { recursive: true });
      },
      async heal() {
        renameSync(aside, replica.directory);
      },
    };
  },
};

/** Of two that publish over the same slice one wins; the other is told (412), and looks at what is there. */
export const PUBLISHERS_RACE: Fault = {
  name: "publishers-race",
  disturbs: [],
  lasts: [0, 0],
  briefly: 0,
  missing: always,
  aim(world, random) {
    const problems: string[] = [];
    const pair = [oneOf(world.replicas, random), oneOf(world.replicas, random)] as const;
    return {
      replicas: [],
      detail: `at ${pair[0].name} and ${pair[1].name}`,
      problems,
      async strike() {
        for (let round = 0; round < 3; round += 1) await race(world, pair, round, problems);
      },
      async heal() {},
    } satisfies Aimed;
  },
};

async function race(
  world: SoakWorld,
  pair: readonly [SoakWorld["replicas"][number], SoakWorld["replicas"][number]],
  round: number,
  problems: string[],
): Promise<void> {
  const owner = "spare";
  const before = await world.admin(pair[0]).get(`/config/slices/${owner}`);
  const digest = before.status === 200 ? String(before.headers["etag"]).replaceAll('"', "") : undefined;
  const answers = await Promise.allSettled(
    pair.map((replica, index) => {
      const from = world.addresses.published[owner];
      const route = { name: "race", from, to: world.upstreams.web.origin, allow_public_unauthenticated_access: true };
      const headers = { "x-race": `${world.now()}-${round}-${index}` };
      return world
        .admin(replica)
        .publish(owner, stringify({ routes: [{ ...route, set_request_headers: headers }] }), digest);
    }),
  );
  const statuses = answers.map((each) => (each.status === "fulfilled" ? each.value.status : 0));
  // One that was cut off may have won, too.
  const won = statuses.filter((status) => status >= 200 && status < 300).length;
  if (won > 1) problems.push(`two publishers over the same slice both won: ${statuses.join(" and ")}`);
  if (won === 0 && statuses.every((status) => status === 412))
    problems.push(`of two publishers over the same slice none won: ${statuses.join(" and ")}`);
}
