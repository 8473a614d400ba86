/** Destinations of records, and the settings for writing replayable ones. */
import type { ReplayWriter } from "../../audit/replay/write-facts.ts";

/** TLS settings of a destination. Files are read for each connection. */
export interface SinkTls {
  readonly caFile: string | undefined;
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly serverName: string | undefined;
}

export type SinkTarget =
  | { readonly kind: "otlp"; readonly url: string; readonly headers: ReadonlyMap<string, string> }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: ReadonlyMap<string, string>;
      readonly format: "ndjson" | "ocsf";
    }
  | {
      readonly kind: "syslog";
      readonly host: string;
      readonly port: number;
      /** Undefined: the message is JSON. */
      readonly structuredDataId: string | undefined;
    };

/** Settings for the record thread: structured-clonable. */
export interface RecordSinkSettings {
  readonly name: string;
  readonly target: SinkTarget;
  readonly tls: SinkTls;
  readonly timeoutMs: number;
  readonly spoolMaxBytes: number;
}

/** Storage of the latest records for queries. */
export interface RecordStoreSettings {
  readonly maxAgeMs: number;
  readonly maxRecords: number;
  /** Undefined: in the gateway's own database. */
  readonly storageUrl: string | undefined;
}

export interface RecordSettings {
  /** Where authorization records go: "stdout" or a file path. */
  readonly authorizeLog: string;
  /** Records are tamper-evident and include request outcomes. */
  readonly audit: boolean;
  readonly replay: ReplayWriter;
  /** Key of digests in records; undefined: derived from the shared secret. */
  readonly digestKey: Uint8Array | undefined;
  readonly recordSinks: readonly RecordSinkSettings[];
  /** Directory for records that wait for sinks and record store. Undefined: no sinks, and no directory configured. */
  readonly recordSpool: string | undefined;
  /** Absent: no record store. */
  readonly recordStore: RecordStoreSettings | undefined;
  /** Requests that cannot be recorded are denied. */
  readonly auditRequired: boolean;
}
