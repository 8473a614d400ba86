/** Dependencies of the screen of approvals. */
import type { Approvals } from "../../approvals/interfaces.ts";
import type { Identities } from "../../identity/interfaces.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";

export interface ApprovalsScreenDeps {
  readonly approvals: Pick<Approvals, "find" | "given" | "address" | "decide" | "pageWaiting">;
  readonly identities: Pick<Identities, "find">;
  /** Absent: no records are stored. */
  readonly records?: Pick<RecordReader, "find"> | undefined;
}
