/** What one sink has to know. */
import type { RecordSinkSettings } from "../features/records/compiled.ts";

/** Structured-clonable. */
export interface RecordSinkOptions extends RecordSinkSettings {
  /** What the gateway is called, as in its traces. */
  readonly serviceName: string;
  readonly version: string;
}
