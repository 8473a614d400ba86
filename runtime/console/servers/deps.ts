/** Dependencies of the pages of servers. */
import type { Blocks } from "../../identity/blocks.ts";
import type { UpstreamStatus } from "../../features/balancing/apply-state.ts";
import type { ListedTools } from "../../mcp/listed-tools.ts";
import type { ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import type { AdminAction } from "../../audit/action-record.ts";
import type { Connections } from "../../oauth/client/list-connections.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import type { Store } from "../../store/store.ts";

export interface ServersDeps {
  readonly store: Store;
  readonly blocks: Pick<Blocks, "find">;
  readonly connections: Connections;
  readonly toolLocks: Pick<ToolLocks, "differences">;
  readonly listedTools?: Pick<ListedTools, "notesOf" | "namesOf">;
  /** Counts of all processes over the last hours; absent: unknown. */
  readonly traffic?: () => Promise<readonly TrafficStep[]>;
  /** State of upstreams, as this process knows it. */
  readonly upstreams: () => readonly UpstreamStatus[];
  /** Undefined: records are not kept. */
  readonly records: Pick<RecordReader, "find" | "count"> | undefined;
  readonly recordAction: (action: AdminAction) => void;
}
