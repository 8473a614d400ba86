/**
 * A call of a federated route as an open response of its user: it ends with the right to it, also while no member has it because
 * the user is being asked.
 */
import type { StreamEnd } from "../../answers/answer-ended.ts";
import type { OpenStream, Streams } from "../../forwarding/streams.ts";
import type { MemberCall } from "../member-call.ts";
import type { ClientReply } from "../reply.ts";

export class OpenCall implements OpenStream {
  readonly isEndless = false;
  readonly endsWithCredential = false;
  readonly routeKey: string;
  readonly snapshot: OpenStream["snapshot"];
  readonly principal: OpenStream["principal"];
  readonly facts: OpenStream["facts"];
  readonly membership: OpenStream["membership"];
  listIndex = -1;
  /** Whether a member has got the request. */
  wasSent = false;
  /** The request to the member. */
  relaying: { abort(): void } | undefined;
  readonly #reply: ClientReply;
  readonly #exchange: MemberCall["context"]["exchange"];

  /** @param streams until the response is over */
  constructor(streams: Streams, { context, member, reply }: MemberCall) {
    this.routeKey = context.prepared.route.key;
    this.snapshot = context.snapshot;
    this.principal = context.principal;
    this.facts = context.facts;
    this.membership = { federated: this.routeKey, member: member.prepared.route.key };
    this.#reply = reply;
    this.#exchange = context.exchange;
    streams.sent(this);
    context.exchange.onClose(() => streams.remove(this));
  }

  end(why: StreamEnd): void {
    if (why === "stopping") this.#exchange.abort();
    else this.#reply.accessEnded(this.wasSent);
    this.relaying?.abort();
  }
}
