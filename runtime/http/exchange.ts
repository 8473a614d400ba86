/**
 * One request and its answer, in the same form for HTTP/1.1 and HTTP/2.
 *
 * Untrusted input: everything the client sent. Promises: `host` and `path` are canonical (see server.ts: what cannot be
 * made canonical was refused before an Exchange exists); header values reach us as the bytes they are (latin1);
 * an answer is started at most once.
 */
import type { Duplex, Readable } from "node:stream";

import type { AddedHeaders } from "../features/headers/apply-added.ts";
import type { Party } from "./admission/parties.ts";
import type { ClientCertificate } from "./listener/client-certificate.ts";
import type { ForwardedFor } from "./listener/forwarded-for.ts";
import type { Guarded } from "../shared/faults/guard.ts";
import type { HeaderTraits } from "../shared/http/header-traits.ts";

export interface Exchange extends Guarded {
  /** Request id: ours, always fresh; in every answer we make and in every log line. */
  readonly id: string;
  /** Upper case. */
  readonly method: string;
  /** Canonical path, beginning with "/": percent-encoding normalised, no dot segments, no "//". Never decoded further. */
  readonly path: string;
  /** Query with its "?", byte for byte; "" when none. */
  readonly query: string;
  /** Lower-case Host (or :authority), with port unless it is the scheme's default. */
  readonly host: string;
  readonly secure: boolean;
  /** Of the client: the connection's peer, or what trusted proxies before us say it is. */
  readonly remoteAddress: string;
  /** What trusted proxies say of the client; set by the server before anybody looks, where there are such proxies. */
  forwardedFor?: ForwardedFor | undefined;
  /** Name, value, name, value… as received. */
  readonly rawHeaders: readonly string[];
  /** What is known of each name of `rawHeaders`, in their order, where the server has looked it up already. */
  readonly headerTraits?: readonly HeaderTraits[];
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** The request body. Not read unless somebody does; must be consumed or the connection is closed after the answer. */
  readonly body: Readable;
  /** The body, where it came together with the head; `body` gives it, too. */
  readonly wholeBody?: Buffer | undefined;
  /** True when the request can have a body (Content-Length above 0 or chunked). */
  readonly hasBody: boolean;
  /** What came behind the body, name, value, …; known once that has ended. Checked by nobody. */
  readonly trailers: readonly string[];
  /** What the settings add to answers of the gateway's own; set by the proxy once host and route are known. */
  addedHeaders?: AddedHeaders | undefined;
  /** `support_url` of the settings in force, for error pages; set by the proxy. */
  supportUrl?: string | undefined;
  /** What the client showed in the TLS handshake; undefined when it showed none or was not asked. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Whose memory and upstream connections the request takes; set by the server before it begins. */
  party?: Party | undefined;
  /** The client wants to go on with WebSocket messages. Without `accept()` it is answered like any request. */
  readonly upgrade?: UpgradeOffer | undefined;

  /** Value of a header that may stand once; undefined when absent or when it stands several times with different values. */
  header(lowerName: string): string | undefined;
  /** All values of a header, in order. */
  headerValues(lowerName: string): readonly string[];

  /** Counts bytes that are held for the client until the request is over. @returns false when there is no room for them */
  hold(bytes: number): boolean;

  /** True once an answer has been started. */
  readonly started: boolean;
  /** Status of the answer; 0 before it is started. */
  readonly status: number;
  /** Set where a gRPC call got a gRPC status of ours: what the answer would have had in HTTP, for those who count answers. */
  meantStatus?: number | undefined;
  /** An error of our own ended it. */
  isBroken?: boolean | undefined;
  /** Starts an answer. `headers` is flat: name, value, … @param mayTrail trailers may come with its end */
  start(status: number, headers: readonly string[], mayTrail?: boolean): void;
  /** @returns false when the caller should wait for `onDrain` */
  write(chunk: Buffer | string): boolean;
  /** All that was written has left the process: nobody holds on to its memory. Absent: nobody knows. */
  readonly isFlushed?: boolean;
  onDrain(listener: () => void): void;
  /** @param trailers flat, names in lower case; left out where the answer's framing has no place for them */
  end(chunk?: Buffer | string, trailers?: readonly string[]): void;
  /** Answers in one go. Without a body HTTP/2 shows the end in the head, which gRPC takes for the trailers then. */
  respond(status: number, headers: readonly string[], body?: Buffer | string, trailers?: readonly string[]): void;
  /** Nothing of the answer has left yet: it is as if none had been started. @returns false where that cannot be said */
  takeBack(): boolean;
  /** Tears the connection (or stream) down: an answer that cannot be completed must not look complete. */
  abort(): void;
  /** Called once when the client went away before the answer was complete, or when the answer is complete. */
  onClose(listener: (complete: boolean) => void): void;
}

/** A handshake that only waits for the yes; its own headers have been checked. */
export interface UpgradeOffer {
  readonly protocol: "websocket";
  /**
   * Says yes. Nothing else of the exchange may be called afterwards, except `abort`.
   *
   * @param headers more headers of the answer, flat; none of the connection's
   * @returns both directions of the messages; the caller closes it
   */
  accept(headers: readonly string[]): Duplex;
}
