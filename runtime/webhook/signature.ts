/** What makes a request of the webhook believable. @see Standard Webhooks, "Signature scheme" */
import { createHmac } from "node:crypto";

/** @param key from a secret. @returns one entry of `webhook-signature` */
function signature(key: Buffer, signed: string): string {
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

export interface SignedMessage {
  readonly id: string;
  /** Epoch seconds of this attempt: receivers refuse old ones, so that nobody sends a recorded one again. */
  readonly timestamp: number;
  readonly body: string;
}

/** The three header fields; one signature for each key, of which the receiver needs to know one. */
export function signedHeaders(keys: readonly Buffer[], { id, timestamp, body }: SignedMessage): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": keys.map((key) => signature(key, `${id}.${timestamp}.${body}`)).join(" "),
  };
}
