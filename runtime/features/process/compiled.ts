/** Settings of the process, compiled. */
import type { BrandingSettings } from "./branding.ts";
import type { PublishWorkload } from "./publish-workloads.ts";
import type { WebhookSettings } from "./webhook.ts";

/** A token with which owners publish. */
export interface OwnerPublishToken {
  /** Entry in `owners`: a name, or a prefix with ".*" that covers several. */
  readonly entry: string;
  readonly token: string;
}

/** Settings of the process, compiled. */
export interface ProcessSettings {
  /** Loopback http origins and upstream discovery over http are accepted; listeners must be loopback. */
  readonly development: boolean;
  readonly adminToken: string | undefined;
  /** Valid only for some owners' slices. */
  readonly publishTokens: readonly OwnerPublishToken[];
  /** Workloads that can get short-lived publish tokens. */
  readonly publishWorkloads: readonly PublishWorkload[];
  /** Current first, then previous ones; raw bytes. */
  readonly sharedSecrets: readonly Buffer[];
  /** PEM of the assertion keys, first signs; [] = derived from shared_secret. */
  readonly signingKeys: readonly string[];
  /** "memory:", "sqlite:///path", "postgres://…". */
  readonly storageUrl: string;
  readonly drainTimeoutMs: number;
  /** Delay before the listener closes. */
  readonly drainDelayMs: number;
  readonly logLevel: string;
  /** Undefined: no trace context of our own, no spans. */
  readonly tracing:
    | {
        /** Undefined: spans are not exported. */
        readonly endpoint: string | undefined;
        readonly headers: ReadonlyMap<string, string>;
        readonly serviceName: string;
        readonly sampleOneIn: number;
        /** Continues clients' traces. */
        readonly continueTraces: boolean;
      }
    | undefined;
  /** Undefined: no event notifications. */
  readonly webhook: WebhookSettings | undefined;
  /** Undefined: pages look as the gateway's own. */
  readonly branding: BrandingSettings | undefined;
}
