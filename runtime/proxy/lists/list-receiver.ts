/** Interfaces around the readers of lists in responses. */
import type { Guarded } from "../../shared/faults/guard.ts";
import type { UpstreamHeaders, UpstreamReceiver } from "../../upstreams/transport-types.ts";

/** Passes the response on to the client. */
export interface ListReceiver extends UpstreamReceiver, Guarded {
  /** Aborts the response. @param last ends an event stream that has begun */
  refuseAnswer(why: string, last?: Buffer): void;
  /** Drops the current response, and sends the same upstream another message. */
  askAgain(message: Buffer): void;
  /** Drops the current response. */
  leaveAnswer(): void;
}

/** A reader in front of the receiver of a response. */
export interface AnswerReader extends UpstreamReceiver {
  refuseAnswer(why: string): void;
  /** It replaces the members that only the gateway may send (mcp/operations/answer-members.ts) itself. */
  readonly readsMembers?: boolean;
  /** Ends the reader: no more input is expected. */
  close(): void;
}

export const ODD_MEMBER = "an answer with a member that no server writes so";

/** Headers that describe the exact bytes of a body. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "etag",
  "digest",
  "content-digest",
  "repr-digest",
  "content-md5",
  "accept-ranges",
]);

/** The headers of a response whose body is changed. @param also name of another header to remove */
export function withoutBodyHeaders(headers: UpstreamHeaders, also?: string): string[] {
  return headers.filter((_, index) => {
    const name = headers[index - (index % 2)] as string;
    return name !== also && !BODY_HEADERS.has(name);
  });
}

export function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
