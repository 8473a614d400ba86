/**
 * The stream to a client in which a federated endpoint reports changes: it counts as one of its user, and ends with the right
 * to it.
 */
import type { Snapshots } from "../../../config/snapshot.ts";
import { withAddedHeaders } from "../../../features/headers/apply-added.ts";
import type { CurrentPrincipal } from "../../../identity/current-principal.ts";
import { writeJson, type MessageJson } from "../../../mcp/federation/json.ts";
import { renderEvent } from "../../../mcp/lists/event-blocks.ts";
import { guard } from "../../../shared/faults/guard.ts";
import { answerEnded, lastEvent, type StreamEnd } from "../../answers/answer-ended.ts";
import { routeCorsHeaders } from "../../cors.ts";
import { refuseStream } from "../../forwarding/stream-admission.ts";
import type { OpenStream, Streams } from "../../forwarding/streams.ts";
import type { ChangedList, ListChanges } from "../../lists/list-changes.ts";
import type { RequestContext } from "../../request-context.ts";

export const STREAM_HEADERS: readonly string[] = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-cache, no-transform",
  "x-content-type-options",
  "nosniff",
];
export const LISTS: readonly ChangedList[] = ["tools", "prompts", "resources"];
export const EVENT: readonly string[] = ["event: message"];

/** Begins an event stream to the client. @param more headers, flat */
export function startStream({ exchange, corsOrigin }: RequestContext, more: readonly string[] = []): void {
  const own = ["x-request-id", exchange.id, ...STREAM_HEADERS, ...more, ...routeCorsHeaders(corsOrigin)];
  exchange.start(200, exchange.addedHeaders ? withAddedHeaders(own, exchange.addedHeaders) : own);
}

export interface ClientStreamDeps {
  readonly streams: Streams;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly listChanges?: ListChanges;
  /** Absent: principals never change while a response lasts. */
  readonly current?: CurrentPrincipal | undefined;
}

export class ClientStream implements OpenStream {
  readonly isEndless = true;
  readonly endsWithCredential = true;
  readonly snapshot: OpenStream["snapshot"];
  readonly principal: OpenStream["principal"];
  readonly facts: OpenStream["facts"];
  readonly routeKey: string;
  listIndex = -1;
  isClosed = false;
  readonly #context: RequestContext;

  /** @returns undefined if the client got an error instead */
  static open({ streams }: ClientStreamDeps, context: RequestContext): ClientStream | undefined {
    const stream = new ClientStream(context);
    if (!streams.hasRoom(stream)) refuseStream(context.exchange);
    else if (!streams.add(stream)) answerEnded(context, false);
    else {
      context.exchange.onClose(() => {
        stream.isClosed = true;
        streams.remove(stream);
      });
      startStream(context);
      return stream;
    }
    return undefined;
  }

  private constructor(context: RequestContext) {
    this.#context = context;
    this.snapshot = context.snapshot;
    this.principal = context.principal;
    this.facts = context.facts;
    this.routeKey = context.prepared.route.key;
  }

  /** Tells when the lists change that the gateway itself decides about. */
  follow({ listChanges }: ClientStreamDeps, routeKey: string, tell: (list: ChangedList) => void): void {
    const { exchange } = this.#context;
    const unfollow = listChanges?.follow(routeKey, (lists) =>
      guard(exchange, () => {
        for (const list of lists) tell(list);
      })(),
    );
    if (unfollow) exchange.onClose(unfollow);
  }

  /** @param id of the event @returns false: wait for `exchange.onDrain` */
  write(message: MessageJson | "none", id?: string): boolean {
    if (this.isClosed) return true;
    if (id !== undefined) this.#context.lastEventId = id;
    const fields = id === undefined ? EVENT : [...EVENT, `id: ${id}`];
    return this.#context.exchange.write(renderEvent(fields, message === "none" ? "" : writeJson(message)));
  }

  /** A comment, so that nothing on the way takes the connection for dead. */
  keepAlive(): void {
    if (!this.isClosed) this.#context.exchange.write(":\n\n");
  }

  end(why: StreamEnd): void {
    if (!this.isClosed) this.#context.exchange.end(why === "access" ? undefined : lastEvent(this.#context));
  }
}
