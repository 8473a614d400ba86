/** Interface between a connection and its listener. */
import type { Parties } from "../admission/parties.ts";
import type { RequestRefusal } from "../listener/accept-h1.ts";
import type { Connection } from "./connection.ts";
import type { RequestHead } from "./request-head.ts";
import type { UnreadQueue } from "./unread.ts";

/** A request with the input that came so far. */
export interface Arrival {
  readonly head: RequestHead;
  /** No more of it follows. */
  readonly isWhole: boolean;
  /** The complete body, if it has one and all of it came. */
  readonly body: Buffer | undefined;
}

/** The listener, as its exchanges see it. */
export interface ExchangeOwner {
  readonly secure: boolean;
  /** Clients are asked for certificates. */
  readonly asksForCertificates: boolean;
  /** True while the listener is shutting down: every answer then closes its connection. */
  readonly draining: boolean;
}

export interface ConnectionOwner extends Omit<ExchangeOwner, "draining"> {
  /** The listener itself; `draining` changes. */
  readonly peer: Pick<ExchangeOwner, "draining">;
  readonly parties: Parties;
  /** Queue where input may wait before it is read. */
  readonly unread?: UnreadQueue | undefined;
  /** Called when there is no memory for the client's input. */
  noRoom(): void;
  /** Milliseconds, at most a second behind. */
  readonly nowMs: number;
  /** Makes a request of the input, and begins it. @param mayUpgrade no earlier request is unanswered */
  begin(connection: Connection, arrival: Arrival, mayUpgrade: boolean): void;
  /** Called when a WebSocket handler owns the connection: no longer counted here, but ended together with the others. */
  upgraded(connection: Connection): void;
  /** The connection starts with the HTTP/2 preface. @param first bytes that were read but not consumed */
  turnedHttp2(connection: Connection, first: Buffer): void;
  /** @param unanswered number of requests without any response */
  closed(connection: Connection, unanswered: number): void;
  /** @param reason set if it is a request that only cannot be served */
  unreadable(detail: string, reason: RequestRefusal | undefined): void;
}
