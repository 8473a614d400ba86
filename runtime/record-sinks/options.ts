/** Options of one sink. */
import type { RecordSinkSettings } from "../features/records/compiled.ts";

/** Structured-clonable. */
export interface RecordSinkOptions extends RecordSinkSettings {
  /** Name of the gateway, as in its traces. */
  readonly serviceName: string;
  readonly version: string;
}
