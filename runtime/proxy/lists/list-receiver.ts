/** What stands before and behind those who read lists in answers. */
import type { Guarded } from "../../shared/faults/guard.ts";
import type { UpstreamHeaders, UpstreamReceiver } from "../../upstreams/transport-types.ts";

/** Whoever passes the answer on to the client. */
export interface ListReceiver extends UpstreamReceiver, Guarded {
  /** What came must not go on. @param last ends an event stream that has begun */
  refuseAnswer(why: string, last?: Buffer): void;
  /** Leaves the answer under way, and asks the same upstream with another message. */
  askAgain(message: Buffer): void;
  /** Leaves the answer under way. */
  leaveAnswer(): void;
}

/** Stands before the receiver of an answer. */
export interface AnswerReader extends UpstreamReceiver {
  refuseAnswer(why: string): void;
  /** Nobody waits for more. */
  close(): void;
}

/** They say something of bytes that are not those that leave. */
const OF_OTHER_BYTES: ReadonlySet<string> = new Set([
  "content-length",
  "etag",
  "digest",
  "content-digest",
  "repr-digest",
  "content-md5",
  "accept-ranges",
]);

/** The headers of an answer whose bytes are others. */
export function withoutThose(headers: UpstreamHeaders): string[] {
  return headers.filter((_, index) => !OF_OTHER_BYTES.has(headers[index - (index % 2)] as string));
}
