/**
 * Why our reader of answers and Node's own (llhttp, strict) take some bytes differently, rule by rule. A rule names what is
 * unusual in the bytes and both outcomes, so that it cannot explain what it was not written for.
 */

export interface WholeAnswer {
  readonly status: number;
  /** Flat, names in lower case. */
  readonly headers: readonly string[];
  /** One character per byte. */
  readonly body: string;
}

/** Result of one reader for the bytes. */
export type Reading =
  | { readonly kind: "read"; readonly answer: WholeAnswer }
  | { readonly kind: "refused"; readonly why: string };

export interface SeenAnswer {
  /** One character per byte. */
  readonly bytes: string;
  readonly ours: Reading;
  readonly theirs: Reading;
}

export interface AnswerDifference {
  readonly name: string;
  readonly because: string;
  readonly explains: (seen: SeenAnswer) => boolean;
}

/** We refuse, for that reason, what Node reads, and the bytes have what the rule is about. */
function stricter(name: string, because: string, why: RegExp, bytesHave: RegExp): AnswerDifference {
  return {
    name,
    because,
    explains: ({ bytes, ours, theirs }) =>
      ours.kind === "refused" && why.test(ours.why) && theirs.kind === "read" && bytesHave.test(bytes),
  };
}

/** We read what Node refuses for that reason. */
function laxer(name: string, because: string, why: RegExp, bytesHave: RegExp): AnswerDifference {
  return {
    name,
    because,
    explains: ({ bytes, ours, theirs }) =>
      ours.kind === "read" && theirs.kind === "refused" && why.test(theirs.why) && bytesHave.test(bytes),
  };
}

const STATUS_LINE = /status line/;

export const ANSWER_DIFFERENCES: readonly AnswerDifference[] = [
  stricter(
    "empty lines first",
    "A server may skip them before a request (RFC 9112 §2.2); before an answer they are what a former answer left over",
    STATUS_LINE,
    /(?:^|\r\n\r\n)[\r\n]+[A-Z]/,
  ),
  stricter(
    "other protocols",
    "We asked in HTTP/1.1, and only HTTP/1 answers that; Node's parser also knows RTSP, ICE and HTTP/0.9 and 2.0",
    STATUS_LINE,
    /(?:^|\n)(?:RTSP\/|ICE\/|HTTP\/0\.9|HTTP\/2\.0)/,
  ),
  stricter(
    "status below 100 or above 599",
    "No class of answers has such a number (RFC 9110 §15), and no server of ours could send it on",
    STATUS_LINE,
    /(?:^|\n)HTTP\/1\.[01] [06-9][0-9]{2}/,
  ),
  stricter(
    "control characters in the reason",
    "It is made of blanks and visible characters (RFC 9112 §4)",
    STATUS_LINE,
    // oxlint-disable-next-line no-control-regex -- that is what they are
    /(?:^|\n)HTTP\/1\.[01] [0-9]{3} [^\r\n]*[\0-\u0008\u000b\u000c\u000e-\u001f\u007f]/,
  ),
  stricter(
    "codings other than chunked",
    "We announce none with TE, so nobody may use one (RFC 9112 §7.4); Node reads to the end of the connection",
    /Transfer-Encoding is not just chunked/,
    /transfer-encoding:(?![ \t]*chunked[ \t]*\r\n)/i,
  ),
  stricter(
    "chunks in HTTP/1.0",
    "A client MUST treat that as faulty framing (RFC 9112 §6.1); Node reads it",
    /Transfer-Encoding in HTTP\/1\.0/,
    /HTTP\/1\.0[^]*transfer-encoding/i,
  ),
  stricter(
    "another protocol without its name",
    "We never ask for one; without an Upgrade field Node takes a 101 for an ordinary answer",
    /changes to another protocol/,
    /HTTP\/1\.[01] 101/,
  ),
  stricter(
    "chunk sizes with many digits",
    "13 are enough for any size that can be counted; more are only ever leading zeros",
    /chunk is too large/,
    /\r\n0[0-9a-f]{13,}\r\n/i,
  ),
  stricter(
    "lengths that cannot be counted",
    "Above 15 digits JavaScript's numbers have gaps; Node looks only at those that declare a body",
    /Content-Length is not a number/,
    /content-length: *[0-9]{16,}/i,
  ),
  stricter(
    "tabs around framing",
    "Node trims one before a value and not one behind it: who differs there reads another end",
    /Content-Length is not a number|Transfer-Encoding is not just chunked/,
    /(?:content-length|transfer-encoding):[^\r\n]*\t/i,
  ),
  laxer(
    "a length among the trailers",
    "Trailers are judged line by line and by their names (shared/http/trailers.ts); Node takes it for framing that contradicts itself",
    /Content-Length can't be present with Transfer-Encoding/,
    /\r\n0+(?:;[^\r\n]*)?\r\ncontent-length:/,
  ),
  laxer(
    "chunk extensions with odd names",
    "They are left out (RFC 9112 §7.1.1) and end where the line ends, whatever visible is between",
    /Invalid character in chunk extensions/,
    /\r\n[0-9a-f]+;/i,
  ),
  laxer(
    "close in an interim answer",
    "The final answer is still owed, over HTTP/1.0, too; what it says of the connection counts",
    /Data after `Connection: close`/,
    /HTTP\/1\.(?:0 1[0-9]{2}|1 1[0-9]{2}[^]*?connection: [^\r\n]*close)[^]*?\r\n\r\nHTTP\//i,
  ),
];
