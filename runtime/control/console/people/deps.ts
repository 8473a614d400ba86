/** What the pages of people need of others. */
import type { AdminAction } from "../../../audit/action-record.ts";
import type { CompiledRoute } from "../../../config/compiled.ts";
import type { Blocks } from "../../../identity/blocks.ts";
import type { Revocations } from "../../../identity/interfaces.ts";
import type { Connections } from "../../../oauth/client/list-connections.ts";
import type { RecordReader } from "../../../record-store/record-reader.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Log } from "../../../shared/log.ts";
import type { Store } from "../../../store/store.ts";

export interface PeopleDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly blocks: Pick<Blocks, "find">;
  readonly connections: Connections;
  readonly disconnect: (userId: string, route: CompiledRoute, by: string) => Promise<boolean>;
  /** Undefined: records are not kept. */
  readonly records: Pick<RecordReader, "find"> | undefined;
  readonly recordAction: (action: AdminAction) => void;
  readonly clock: Clock;
  readonly log: Log;
}
