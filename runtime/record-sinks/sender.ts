/** A destination's interface for the delivery: accepts batches, or returns the reason why not. */

export type SendResult =
  /** `rejected`: number of records that the destination will never accept, by its own statement. */
  | { readonly outcome: "taken"; readonly rejected?: number; readonly reason?: string }
  /** Rejects all or some of these records; may accept others. */
  | { readonly outcome: "refused"; readonly reason: string }
  /** A failure of the destination, or of the connection. */
  | { readonly outcome: "away"; readonly reason: string; readonly retryAfterMs?: number };

export interface SpooledRecord {
  /** JSON. */
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface Sender {
  /** Limits of one batch. */
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Never throws; ends within its own time limit. `reason` contains no text of the destination. */
  send(records: readonly SpooledRecord[], signal: AbortSignal): Promise<SendResult>;
  close(): void;
}
