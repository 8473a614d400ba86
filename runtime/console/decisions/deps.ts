/** Dependencies of the screen of decisions. */
import type { RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import type { ConsoleRequest, ConsoleRights } from "../screen.ts";
import type { DecisionPageDeps } from "./decision.ts";
import type { KnownPolicies } from "./policies.ts";
import type { Tails } from "./tails.ts";

export interface DecisionDeps extends DecisionPageDeps {
  /** Absent: no records are stored. */
  readonly reader: RecordReader | undefined;
  readonly tails: Tails | undefined;
  readonly policies: Pick<KnownPolicies, "find">;
  /** Undefined: no longer permitted. */
  readonly again: (visit: ConsoleRequest) => Promise<ConsoleRights | undefined>;
  /** Store of saved views; absent: views cannot be saved. */
  readonly store?: Pick<Store, "get" | "put"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
}
