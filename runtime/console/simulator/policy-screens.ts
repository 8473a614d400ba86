/** Composition of the simulator and the changes, which share one thread. */
import type { BootSettings } from "../../config/compiled.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { createKnownPeople } from "../../identity/users/known-people.ts";
import type { ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Store } from "../../store/store.ts";
import type { Bundle } from "../../bundle/bundle.ts";
import { Publisher, type PublisherDeps } from "../../bundle/publisher.ts";
import { createDrafts, type Drafts } from "../../simulation/drafts.ts";
import type { ChangesDeps } from "../changes/changes.ts";
import { sliceOrigin } from "../changes/slice-origin.ts";
import type { SimulatorDeps } from "./deps.ts";

export interface PolicyScreensDeps {
  /** A configuration file, or a directory. */
  readonly config: string;
  readonly boot: Pick<BootSettings, "downstreamMtls">;
  readonly bundle: Pick<Bundle, "status" | "validate">;
  readonly store: Store;
  readonly keys: Keys;
  readonly blocks: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
  readonly toolLocks: Pick<ToolLocks, "stateOf">;
  readonly recordPublished: PublisherDeps["record"];
  /** Undefined: no records are stored. */
  readonly records: Pick<RecordReader, "find"> | undefined;
  readonly clock: Clock;
}

/** A user waits for the response. */
const LIVE_WAIT_MS = 8_000;

export function createPolicyScreens(deps: PolicyScreensDeps): {
  /** To be closed. */
  readonly drafts: Drafts;
  readonly simulator: SimulatorDeps;
  readonly changes: ChangesDeps;
} {
  const { store, clock, boot, bundle, config, keys, blocks, toolLocks, records, recordPublished: record } = deps;
  const drafts = createDrafts({ store, clock, path: config, sealKeys: keys.derive("kept-slice") });
  const { downstreamMtls: mtls } = boot;
  return {
    drafts,
    simulator: {
      drafts,
      people: createKnownPeople(store),
      records,
      blocks,
      toolLocks,
      demandsCertificate: mtls !== undefined && mtls.enforcement !== "policy",
      sliceOrigin: (owner) => sliceOrigin({ store, status: () => bundle.status() }, owner),
    },
    changes: {
      drafts,
      store,
      records,
      publisher: new Publisher({ store, clock, validate: bundle.validate, record, waitMs: LIVE_WAIT_MS }),
    },
  };
}
