/**
 * One member's stream of messages outside of calls: of its session (GET), or its response to `subscriptions/listen`.
 *
 * Untrusted input: the member's stream. Promises: one that ends is opened again, later each time, and continues where it was.
 * It counts as absent if it never opened, or fails to open `MOST_FAILURES` times in a row.
 */
import { requestFor } from "../../../mcp/federation/eras.ts";
import type { MessageJson } from "../../../mcp/federation/json.ts";
import { EventBlocks } from "../../../mcp/lists/event-blocks.ts";
import { pauseAfter, type Pauses } from "../../../shared/backoff.ts";
import { guard } from "../../../shared/faults/guard.ts";
import { allHeaders } from "../../../shared/http/header-lookup.ts";
import { isMember } from "../../answers/still-allowed.ts";
import { isEventStream } from "../../forwarding/response-headers.ts";
import type { RequestContext } from "../../request-context.ts";
import type { MemberExchange } from "../member-exchange.ts";
import { eventsIn, openMember, type Outgoing, type RunMember } from "../ask-member.ts";
import type { Link } from "../links.ts";
import { renewCaller } from "../renew-caller.ts";
import type { ClientStreamDeps } from "./client-stream.ts";

const PAUSES: Pauses = { firstMs: 1_000, mostMs: 60_000 };
/** About four minutes: a restart of the member takes less. */
const MOST_FAILURES = 9;
/** The session has ended, or the member has no such stream: opening again cannot help. */
const NO_STREAM: ReadonlySet<number> = new Set([404, 405]);
const MAX_BYTES = 16 * 1024 * 1024;
const LISTEN_ID = "gateform-listen";

export interface MemberStreamDeps extends Pick<ClientStreamDeps, "snapshots" | "current"> {
  readonly run: RunMember;
}

export interface MemberStreamOptions {
  readonly context: RequestContext;
  readonly link: Link;
  /** Asked of a member of the later revision. */
  readonly notifications: MessageJson;
  /** Where the client's stream was. */
  readonly lastEventId?: string | undefined;
}

export interface MemberStreamReader {
  /** @param id of the event @returns false: wait for `exchange.onDrain` */
  take(message: MessageJson | "none", id: string | undefined): boolean;
  /** The member keeps its connection open. */
  alive(): void;
  /** The member has no such stream. */
  none(): void;
  /** It is no longer a member. */
  gone(): void;
}

export class MemberStream {
  readonly #deps: MemberStreamDeps;
  readonly #options: MemberStreamOptions;
  readonly #reader: MemberStreamReader;
  #lastEventId: string | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #exchange: MemberExchange | undefined;
  #ends = 0;
  /** Failures to open since the last stream; undefined: there is none to continue. */
  #failures: number | undefined;

  constructor(deps: MemberStreamDeps, options: MemberStreamOptions, reader: MemberStreamReader) {
    this.#deps = deps;
    this.#options = options;
    this.#reader = reader;
    this.#lastEventId = options.lastEventId;
    options.context.exchange.onClose(() => {
      this.#isClosed = true;
      clearTimeout(this.#timer);
      // A client that ends its stream completely does not abort those of the members.
      this.#exchange?.abort();
    });
  }

  open(): void {
    const { context, link } = this.#options;
    const events = new EventBlocks(MAX_BYTES);
    let isStream = false;
    const exchange = openMember(this.#deps.run, context, link.member, this.#outgoing(), {
      onHead: (status, headers) => {
        isStream = status === 200 && isEventStream(allHeaders(headers, "content-type")[0] ?? "");
        if (isStream) this.#failures = 0;
        else if (NO_STREAM.has(status)) this.#failures = undefined;
      },
      onData: (chunk) => {
        if (!isStream) return true;
        this.#ends = 0;
        const goesOn = this.#pass(events.push(chunk));
        if (goesOn === undefined) exchange.abort();
        return goesOn ?? true;
      },
      get heldBytes() {
        return events.heldBytes;
      },
      onEnd: () => this.#ended(isStream),
    });
    this.#exchange = exchange;
  }

  #outgoing(): Outgoing {
    const { link, notifications } = this.#options;
    const { version, session, isModern } = link;
    if (!isModern) return { method: "GET", version, session, lastEventId: this.#lastEventId };
    const listen = { jsonrpc: "2.0", id: LISTEN_ID, method: "subscriptions/listen", params: { notifications } };
    return { method: "POST", message: requestFor(listen, true, { isModern: true, capabilities: {} }), version };
  }

  /** @param wasStream false: the member has none, or failed */
  #ended(wasStream: boolean): void {
    if (this.#isClosed) return;
    const { context, link } = this.#options;
    const membership = { federated: context.prepared.route.key, member: link.member.prepared.route.key };
    if (!isMember(membership, this.#deps.snapshots.current())) return this.#reader.gone();
    if (!wasStream && (this.#failures === undefined || ++this.#failures >= MOST_FAILURES)) return this.#reader.none();
    const reopen = guard(context.exchange, () => void this.#reopen());
    this.#timer = setTimeout(reopen, pauseAfter(this.#ends, PAUSES));
    this.#ends += 1;
  }

  async #reopen(): Promise<void> {
    const { context } = this.#options;
    if (!(await renewCaller(this.#deps.current, context)) || this.#isClosed) return;
    guard(context.exchange, () => this.open())();
  }

  /** @returns false: wait for `onDrain`; undefined: the stream cannot be read */
  #pass(blocks: ReturnType<EventBlocks["push"]>): boolean | undefined {
    if (blocks === undefined) return undefined;
    if (blocks.some(({ kind, raw }) => kind === "filler" && raw.length > 1)) this.#reader.alive();
    let goesOn = true;
    for (const { message, id } of eventsIn(blocks)) {
      if (message === undefined) return undefined;
      this.#lastEventId = id ?? this.#lastEventId;
      if (!this.#isClosed) goesOn = this.#reader.take(message, id) && goesOn;
    }
    return goesOn;
  }
}
