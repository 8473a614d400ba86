/** What a kind of receiver is to the delivery: it takes batches, or says why not. */

export type SendResult =
  /** `rejected` of them never will be: the receiver said so. */
  | { readonly outcome: "taken"; readonly rejected?: number; readonly reason?: string }
  /** These records, or one of them; others may be taken. */
  | { readonly outcome: "refused"; readonly reason: string }
  /** The receiver, or the way to it. */
  | { readonly outcome: "away"; readonly reason: string; readonly retryAfterMs?: number };

export interface SpooledRecord {
  /** JSON. */
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface Sender {
  /** Of one batch. */
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Never throws; ends within its own bound of time. No text of the receiver's is in `reason`. */
  send(records: readonly SpooledRecord[], signal: AbortSignal): Promise<SendResult>;
  close(): void;
}
