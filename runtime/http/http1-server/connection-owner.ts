/** What a connection asks of the listener it belongs to. */
import type { Parties } from "../admission/parties.ts";
import type { RequestRefusal } from "../listener/accept-h1.ts";
import type { Connection } from "./connection.ts";
import type { RequestHead } from "./request-head.ts";
import type { UnreadQueue } from "./unread.ts";

/** A request, as far as it has come. */
export interface Arrival {
  readonly head: RequestHead;
  /** Nothing of it follows. */
  readonly isWhole: boolean;
  /** It has one, and this is all of it. */
  readonly body: Buffer | undefined;
}

/** The listener, as its connections see it. */
export interface ExchangeOwner {
  readonly secure: boolean;
  /** Clients are asked for certificates. */
  readonly asksForCertificates: boolean;
  /** True while the listener is shutting down: every answer then closes its connection. */
  readonly draining: boolean;
}

export interface ConnectionOwner extends Omit<ExchangeOwner, "draining"> {
  /** The listener's own, which says when it is draining. */
  readonly peer: Pick<ExchangeOwner, "draining">;
  readonly parties: Parties;
  /** Where what comes may wait before it is read. */
  readonly unread?: UnreadQueue | undefined;
  /** There is no room for what its client sends. */
  noRoom(): void;
  /** Milliseconds, a second late at most. */
  readonly nowMs: number;
  /** Makes a request of what has come, and begins it. @param mayUpgrade it stands behind no other that was not answered yet */
  begin(connection: Connection, arrival: Arrival, mayUpgrade: boolean): void;
  /** It belongs to whoever took it: not counted among these any more, but cut with them. */
  upgraded(connection: Connection): void;
  /** It begins with the preface of HTTP/2. @param first what has been read of it, and not been taken */
  turnedHttp2(connection: Connection, first: Buffer): void;
  /** @param unanswered requests of which nothing was answered */
  closed(connection: Connection, unanswered: number): void;
  /** @param reason where the request is one, and only cannot be met */
  unreadable(detail: string, reason: RequestRefusal | undefined): void;
}
