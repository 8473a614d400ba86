/** Dependencies of the pages of users. */
import type { KindDeps } from "../../administration/kind.ts";
import type { AdminAction } from "../../audit/action-record.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { ListedTools } from "../../mcp/listed-tools.ts";
import type { Connections } from "../../oauth/client/list-connections.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";

export interface PeopleDeps extends KindDeps {
  readonly blocks: Pick<Blocks, "find">;
  readonly connections: Connections;
  readonly disconnect: (userId: string, route: CompiledRoute, by: string) => Promise<boolean>;
  readonly listedTools?: Pick<ListedTools, "namesOf">;
  /** Undefined: no records are stored. */
  readonly records: Pick<RecordReader, "find" | "count"> | undefined;
  readonly recordAction: (action: AdminAction) => void;
}
