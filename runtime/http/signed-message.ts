/** Signature of the gateway's own requests to a configured service, according to Standard Webhooks. */
import { createHmac } from "node:crypto";

/** @param key from a secret. @returns one entry of `webhook-signature` @see Standard Webhooks, "Signature scheme" */
function signature(key: Buffer, signed: string): string {
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

export interface SignedMessage {
  readonly id: string;
  /** Epoch seconds of this attempt: receivers reject old ones, so that a recorded message cannot be replayed. */
  readonly timestamp: number;
  readonly body: string;
}

/** The three header fields; one signature for each key, of which the receiver needs only one. */
export function signedHeaders(keys: readonly Buffer[], { id, timestamp, body }: SignedMessage): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": keys.map((key) => signature(key, `${id}.${timestamp}.${body}`)).join(" "),
  };
}
