/** Dependencies of the pages of clients. */
import type { AdminAction } from "../../audit/action-record.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { Revocations } from "../../identity/interfaces.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import type { Store } from "../../store/store.ts";
import type { MintedTokens } from "../../admin-listener/minted-tokens.ts";

export interface ClientsDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly blocks: Pick<Blocks, "find">;
  /** Undefined: no records are stored. */
  readonly records?: Pick<RecordReader, "find"> | undefined;
  readonly publishTokens: Pick<MintedTokens, "page" | "get" | "end">;
  readonly recordAction: (action: AdminAction) => void;
}
