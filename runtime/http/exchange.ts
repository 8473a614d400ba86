/**
 * One request and its response, in the same form for HTTP/1.1 and HTTP/2.
 *
 * Untrusted input: everything the client sent. Promises: `host` and `path` are canonical (server.ts rejects what cannot be
 * made canonical before an Exchange exists); header values reach us as the bytes they are (latin1); a response is started at
 * most once.
 */
import type { Duplex, Readable } from "node:stream";

import type { AddedHeaders } from "../features/headers/apply-added.ts";
import type { Party } from "./admission/parties.ts";
import type { ClientCertificate } from "./listener/client-certificate.ts";
import type { ForwardedFor } from "./listener/forwarded-for.ts";
import type { Branding } from "../pages/branding.ts";
import type { Guarded } from "../shared/faults/guard.ts";
import type { HeaderTraits } from "../shared/http/header-traits.ts";

export interface Exchange extends Guarded {
  /** Request ID: generated here for every request; in every response of the gateway and every log line. */
  readonly id: string;
  /** Upper case. */
  readonly method: string;
  /** Canonical path, beginning with "/": percent-encoding normalised, no dot segments, no "//". Never decoded further. */
  readonly path: string;
  /** Query with its "?", byte for byte; "" when none. */
  readonly query: string;
  /** Lower-case Host (or :authority), with port unless it is the scheme's default. */
  readonly host: string;
  /** Host of the routes, if it differs from `host`: "app.example.com:80". Only the plain listener next to the TLS one sets it. */
  routedHost?: string | undefined;
  readonly secure: boolean;
  /** Host for which the client opened its TLS connection (SNI), as sent; undefined without. */
  readonly serverName?: string | undefined;
  /** Address of the client: the connection's peer, or the address that trusted proxies report. */
  readonly remoteAddress: string;
  /** The client as reported by trusted proxies, if there are any. The server sets it before any other use. */
  forwardedFor?: ForwardedFor | undefined;
  /** Name, value, name, value… as received. */
  readonly rawHeaders: readonly string[];
  /** Traits of each name of `rawHeaders`, in their order, if the server has looked them up already. */
  readonly headerTraits?: readonly HeaderTraits[];
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** The request body, unread. If it is not consumed, the connection is closed after the response. */
  readonly body: Readable;
  /** The body, if it came together with the head; also available as `body`. */
  readonly wholeBody?: Buffer | undefined;
  /** True when the request can have a body (Content-Length above 0 or chunked). */
  readonly hasBody: boolean;
  /** Fields after the body: name, value, …; known once the body has ended. Unchecked. */
  readonly trailers: readonly string[];
  /** Headers that the settings add to the gateway's own responses. The proxy sets them once host and route are known. */
  addedHeaders?: AddedHeaders | undefined;
  /** `support_url` of the active configuration, for error pages. The proxy sets it. */
  supportUrl?: string | undefined;
  /** Branding of pages; undefined: the gateway's own. The listener sets it. */
  branding?: Branding | undefined;
  /** Certificate that the client presented in the TLS handshake; undefined without one, or if none was requested. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The client whose memory and upstream connections the request uses. The server sets it before the request begins. */
  party?: Party | undefined;
  /** The client wants to switch to WebSocket. Unless `accept()` is called, it is answered like any request. */
  readonly upgrade?: UpgradeOffer | undefined;

  /** Value of a header that is allowed once; undefined when absent or when its values differ. */
  header(lowerName: string): string | undefined;
  /** All values of a header, in order. */
  headerValues(lowerName: string): readonly string[];

  /** Counts bytes that are held for the client until the request is over. @returns false when there is no room for them */
  hold(bytes: number): boolean;

  /** True once an answer has been started. */
  readonly started: boolean;
  /** Status of the answer; 0 before it is started. */
  readonly status: number;
  /** For gRPC calls that got a gRPC status of ours: the status that the response would have in HTTP, for metrics. */
  meantStatus?: number | undefined;
  /** The connection ends with the response, over HTTP/1.1. */
  closesConnection?: boolean;
  /** The gateway ended it with an internal error. */
  isBroken?: boolean | undefined;
  /** Starts a response. `headers` is flat: name, value, … @param mayTrail trailers may come with its end */
  start(status: number, headers: readonly string[], mayTrail?: boolean): void;
  /** @returns false when the caller should wait for `onDrain` */
  write(chunk: Buffer | string): boolean;
  /** Everything written has left the process, so its memory can be reused. Absent: unknown. */
  readonly isFlushed?: boolean;
  onDrain(listener: () => void): void;
  /** @param trailers flat, names in lower case; dropped if the response's framing cannot carry them */
  end(chunk?: Buffer | string, trailers?: readonly string[]): void;
  /** Sends a complete response. Without a body, HTTP/2 ends the stream with the head, which gRPC then reads as trailers. */
  respond(status: number, headers: readonly string[], body?: Buffer | string, trailers?: readonly string[]): void;
  /** Undoes `start()` if nothing has left yet. @returns false when that is not certain */
  takeBack(): boolean;
  /** Tears the connection (or stream) down: an answer that cannot be completed must not look complete. */
  abort(): void;
  /** Calls back once: when the response is complete, or when the client left before. */
  onClose(listener: (complete: boolean) => void): void;
}

/** A handshake whose headers have been checked and that only needs acceptance. */
export interface UpgradeOffer {
  readonly protocol: "websocket";
  /**
   * Accepts the handshake. Afterwards call nothing else of the exchange, except `abort`.
   *
   * @param headers more headers of the response, flat; none about the connection
   * @returns both directions of the messages; the caller closes it
   */
  accept(headers: readonly string[]): Duplex;
}
