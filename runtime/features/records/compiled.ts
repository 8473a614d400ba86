/** Where records go, and what those that are decided again are written with. */
import type { ReplayWriter } from "../../audit/replay/write-facts.ts";

/** How a receiver is reached that asks for more than a URL. Files are read for each connection. */
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

/** As the thread of the records gets it: structured-clonable. */
export interface RecordSinkSettings {
  readonly name: string;
  readonly target: SinkTarget;
  readonly tls: SinkTls;
  readonly timeoutMs: number;
  readonly spoolMaxBytes: number;
}

/** The last records, kept for questions. */
export interface RecordStoreSettings {
  readonly maxAgeMs: number;
  readonly maxRecords: number;
  /** Undefined: beside the store. */
  readonly storageUrl: string | undefined;
}

export interface RecordSettings {
  /** Where authorization records go: "stdout" or a file path. */
  readonly authorizeLog: string;
  /** Records prove that they are whole, and say what became of requests. */
  readonly audit: boolean;
  readonly replay: ReplayWriter;
  /** Of digests in records; undefined: one is derived from the shared secret. */
  readonly digestKey: Uint8Array | undefined;
  readonly recordSinks: readonly RecordSinkSettings[];
  /** Directory of what waits for them and the record store. Undefined: there are no sinks, and none is written. */
  readonly recordSpool: string | undefined;
  /** Absent: none are kept. */
  readonly recordStore: RecordStoreSettings | undefined;
  /** No request passes that cannot be recorded. */
  readonly auditRequired: boolean;
}
