/** Settings of the process as it reads them. */
import type { PublishWorkload } from "./publish-workloads.ts";
import type { WebhookSettings } from "./webhook.ts";

/** A token with which owners publish. */
export interface PublishToken {
  /** Of `owners`: a name, or a beginning with ".*" that covers several. */
  readonly entry: string;
  readonly token: string;
}

/** Settings of the process, as it reads them. */
export interface ProcessSettings {
  /** Loopback http origins and upstream discovery over http are accepted; listeners must be loopback. */
  readonly development: boolean;
  readonly adminToken: string | undefined;
  /** Good for some owners' slices only. */
  readonly publishTokens: readonly PublishToken[];
  /** Jobs that get such tokens for minutes. */
  readonly publishWorkloads: readonly PublishWorkload[];
  /** Current first, then previous ones; raw bytes. */
  readonly sharedSecrets: readonly Buffer[];
  /** PEM of the assertion keys, first signs; [] = derived from shared_secret. */
  readonly signingKeys: readonly string[];
  /** "memory:", "sqlite:///path", "postgres://…". */
  readonly storageUrl: string;
  readonly drainTimeoutMs: number;
  /** Before the listener closes. */
  readonly drainDelayMs: number;
  readonly logLevel: string;
  /** Undefined: no trace context of ours, no spans. */
  readonly tracing:
    | {
        /** Undefined: spans are not exported. */
        readonly endpoint: string | undefined;
        readonly headers: ReadonlyMap<string, string>;
        readonly serviceName: string;
        readonly sampleOneIn: number;
        /** Clients' traces are gone on with. */
        readonly continueTraces: boolean;
      }
    | undefined;
  /** Undefined: nobody is told of events. */
  readonly webhook: WebhookSettings | undefined;
}
