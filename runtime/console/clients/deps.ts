/** Dependencies of the pages of clients. */
import type { AdminAction } from "../../audit/action-record.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { Revocations } from "../../identity/interfaces.ts";
import type { Store } from "../../store/store.ts";
import type { MintedTokens } from "../../admin-listener/minted-tokens.ts";

export interface ClientsDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly blocks: Pick<Blocks, "find">;
  readonly publishTokens: Pick<MintedTokens, "page" | "get" | "end">;
  readonly recordAction: (action: AdminAction) => void;
}
