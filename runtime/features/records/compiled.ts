/** Where records go, and what those that are decided again are written with. */
import type { ToolPointers } from "../../audit/redaction/plan.ts";
import type { ReplayWriter } from "../../audit/replay/write-facts.ts";

export interface RecordSettings {
  /** Where authorization records go: "stdout" or a file path. */
  readonly authorizeLog: string;
  /** Records prove that they are whole, and say what became of requests. */
  readonly audit: boolean;
  readonly replay: ReplayWriter;
  /** Of digests in records; undefined: one is derived from the shared secret. */
  readonly digestKey: Uint8Array | undefined;
  readonly clearArguments: ToolPointers;
}
