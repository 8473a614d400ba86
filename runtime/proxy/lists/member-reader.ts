/**
 * First reader of an MCP server's response: replaces members that the gateway controls (mcp/operations/answer-members.ts).
 */
import { AnswerMembers } from "../../mcp/operations/answer-members.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { hasCoding } from "../forwarding/response-headers.ts";
import type { UpstreamHeaders, UpstreamReceiver } from "../../upstreams/transport-types.ts";
import type { StreamReceiver } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";
import { ODD_MEMBER, withoutBodyHeaders, type AnswerReader, type ListReceiver } from "./list-receiver.ts";
import type { ListDeps } from "./list-rules.ts";
import { streamReaderFor } from "./stream-reader.ts";

/** The first reader of a response. @param lists see `AnswerReader.readsMembers` @param refuse ends a rejected response @param owner see `streamReaderFor` */
export function answerReaderFor(
  { listChanges }: Pick<ListDeps, "listChanges">,
  context: RequestContext,
  lists: AnswerReader | undefined,
  behind: UpstreamReceiver,
  refuse: StreamReceiver,
  owner: ListReceiver,
): UpstreamReceiver {
  const { exchange, message } = context;
  const next = listChanges ? streamReaderFor(listChanges, context, behind, refuse, owner) : behind;
  // Other files of a server are not responses to messages.
  const isAnswer = message !== undefined || /event-stream/i.test(exchange.header("accept") ?? "");
  if (!isAnswer) return next;
  // Results of calls are never cached (MCP 2026-07-28, caching), and clients of older revisions cache nothing.
  const isCacheable = message?.isModern === true && message.facts.method !== "tools/call";
  return new MemberReader(new AnswerMembers(isCacheable), isCacheable, lists, next, refuse);
}

class MemberReader implements UpstreamReceiver {
  readonly #members: AnswerMembers;
  readonly #changesLength: boolean;
  readonly #lists: AnswerReader | undefined;
  readonly #next: UpstreamReceiver;
  readonly #refuse: StreamReceiver;
  #isOver = false;

  constructor(
    members: AnswerMembers,
    changesLength: boolean,
    lists: AnswerReader | undefined,
    next: UpstreamReceiver,
    refuse: StreamReceiver,
  ) {
    this.#members = members;
    this.#changesLength = changesLength;
    this.#lists = lists;
    this.#next = next;
    this.#refuse = refuse;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    const isCoded = hasCoding(headers);
    // request-headers.ts asks for no coding, and a coded response hides its members.
    if (isCoded && !isWhole) return this.#refuseAnswer("an answer with a content coding, although none was requested");
    this.#next.onHead(status, this.#changesLength && !isWhole ? withoutBodyHeaders(headers) : headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#isOver) return;
    if (this.#lists?.readsMembers === true) return this.#next.onData(chunk);
    const passed = this.#members.push(chunk);
    if (passed === undefined) return this.#refuseAnswer(ODD_MEMBER);
    if (passed === chunk) return this.#next.onData(chunk);
    if (passed.length > 0) this.#next.onData(passed);
  }

  onEnd(trailers?: UpstreamHeaders): boolean | void {
    if (this.#isOver) return;
    const rest = this.#members.end();
    if (rest.length > 0) this.#next.onData(rest);
    return this.#next.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (!this.#isOver) this.#next.onFailure(failure, detail);
  }

  #refuseAnswer(why: string): void {
    this.#isOver = true;
    this.#refuse.refuseAnswer(why);
  }
}
