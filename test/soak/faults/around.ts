/** What stands around the gateways: upstreams, the identity provider, disks of records, clocks. */
import { NO_MOUNT } from "./database.ts";
import { always, between, type Fault, oneOf } from "./fault.ts";
import type { UpstreamManner } from "../world/types.ts";

interface UpstreamFault {
  readonly name: string;
  readonly manner: UpstreamManner;
}

const UPSTREAM: readonly UpstreamFault[] = [
  // 504 once the route's `timeout` is over.
  { name: "upstream-hangs", manner: "hang" },
  // Nothing, for requests that can be sent again; a POST that meets the closing gets 502.
  { name: "upstream-closes", manner: "close" },
  // 502 for those that were reset and cannot be sent again.
  { name: "upstream-resets", manner: "reset" },
  // Nothing but the wait, below the route's `timeout`.
  { name: "upstream-late", manner: "late" },
  // 502 at once.
  { name: "upstream-away", manner: "refuse" },
];

/** Requests of the routes of these upstreams, and of nobody else. */
export const UPSTREAM_FAULTS: readonly Fault[] = UPSTREAM.map(({ name, manner }) => ({
  name,
  disturbs: ["upstream"],
  lasts: [4, 10],
  briefly: 1,
  missing: always,
  aim: ({ upstreams, replicas }) => ({
    replicas,
    async strike() {
      upstreams.web.behave(manner);
      upstreams.mcp.behave(manner);
    },
    async heal() {
      upstreams.web.behave("ok");
      upstreams.mcp.behave("ok");
    },
  }),
}));

/** Nobody new can sign in; whoever has goes on. */
export const PROVIDER_AWAY: Fault = {
  name: "provider-away",
  disturbs: ["provider"],
  lasts: [5, 15],
  briefly: 1,
  missing: always,
  aim: ({ provider, replicas }) => ({
    replicas,
    strike: async () => provider.pause(),
    heal: async () => provider.resume(),
  }),
};

/** Keys are read anew when a token names one that is not known: nobody notices. */
export const PROVIDER_KEYS_ROTATED: Fault = {
  name: "provider-keys-rotated",
  disturbs: ["provider"],
  lasts: [0, 0],
  briefly: 0,
  missing: always,
  aim: ({ provider, replicas }) => ({
    replicas,
    strike: async () => provider.rotateKeys(),
    heal: async () => {},
  }),
};

/** Sign-ins take as much longer. */
export const PROVIDER_SLOW: Fault = {
  name: "provider-slow",
  disturbs: ["provider"],
  lasts: [6, 12],
  briefly: 1,
  missing: always,
  aim({ provider, replicas }, random) {
    const ms = Math.round(between([500, 2_500], random));
    return {
      replicas,
      detail: `${ms} ms an answer`,
      strike: async () => provider.delayAnswers(ms),
      heal: async () => provider.delayAnswers(0),
    };
  },
};

/** Requests are served; what finds no room is missing from the log, and the log of operations says so. */
export const RECORDS_DISK_FULL: Fault = {
  name: "records-disk-full",
  disturbs: ["records"],
  lasts: [4, 10],
  briefly: 1,
  missing: ({ replicas }) => (replicas.every(({ disks }) => disks) ? undefined : NO_MOUNT),
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    return {
      replicas: [replica],
      strike: async () => replica.disks?.records.fill(),
      heal: async () => replica.disks?.records.clear(),
    };
  },
};

/** The same for what waits for a receiver of records; the log has them all. */
export const SPOOL_DISK_FULL: Fault = {
  name: "spool-disk-full",
  disturbs: [],
  lasts: [4, 10],
  briefly: 1,
  missing: ({ replicas }) => (replicas.every(({ disks }) => disks) ? undefined : NO_MOUNT),
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    return {
      replicas: [replica],
      strike: async () => replica.disks?.spool.fill(),
      heal: async () => replica.disks?.spool.clear(),
    };
  },
};

/**
 * Tokens end sooner or later on this replica; what all replicas must agree on goes by the store's clock. SQLite has none of its own,
 * and processes that share its file share their machine's.
 */
export const CLOCK_STEPPED: Fault = {
  name: "clock-stepped",
  disturbs: ["clock"],
  lasts: [5, 15],
  briefly: 2,
  missing: ({ replicas }) => (replicas.every(({ setClock }) => setClock) ? undefined : "libfaketime is not installed"),
  aim(world, random) {
    const one = oneOf(world.replicas, random);
    const replicas = world.store === "sqlite" ? world.replicas : [one];
    const seconds = Math.round(between([10, 120], random)) * (random() < 0.5 ? -1 : 1);
    return {
      replicas,
      detail: `${Math.abs(seconds)} s ${seconds < 0 ? "back" : "ahead"}`,
      strike: async () => replicas.forEach((replica) => replica.setClock?.(seconds)),
      heal: async () => replicas.forEach((replica) => replica.setClock?.(0)),
    };
  },
};
