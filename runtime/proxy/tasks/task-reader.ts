/**
 * Answers that may name tasks, on their way to a client: with ids that are sealed for it.
 *
 * Untrusted input: the upstream's answer. What is too large to be read passes as it is: an id that was not sealed opens
 * nothing (open-tasks.ts).
 */
import type { Blocks } from "../../identity/blocks.ts";
import { EventBlocks, renderEvent } from "../../mcp/lists/event-blocks.ts";
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { isJsonMediaType } from "../../mcp/message-headers.ts";
import { sealTasks, withoutTaskList } from "../../mcp/tasks/task-answers.ts";
import type { TaskIds } from "../../mcp/tasks/task-ids.ts";
import { isAboutTask, mayMakeTask } from "../../mcp/tasks/task-requests.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import { bindingOf, type StreamReceiver } from "../announced-address.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import { withoutThose } from "../lists/list-receiver.ts";
import type { RequestContext } from "../request-context.ts";
import { tracksTools } from "./open-tasks.ts";

export interface TaskDeps {
  readonly taskIds: TaskIds;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
}

/** What is larger names no task that was just made; results that are done may be, and are passed on. */
const MAX_BYTES = 1024 * 1024;

/** Stands before the receiver of an answer in which tasks may be named. */
export function taskReaderFor(deps: TaskDeps, context: RequestContext, next: StreamReceiver): StreamReceiver {
  const rewrite = rewriteFor(deps, context);
  return rewrite ? new TaskReader(rewrite, next) : next;
}

type Rewrite = (bytes: Buffer) => Buffer | undefined;

/** @returns undefined where no task is named */
function rewriteFor(deps: TaskDeps, context: RequestContext): Rewrite | undefined {
  const { message, tasks, exchange } = context;
  if (message?.facts.method === "initialize") return withoutTaskList;
  const tells =
    message === undefined ? exchange.method === "GET" : isAboutTask(message.facts.method) || mayMakeTask(message);
  if (!tells && (tasks === undefined || tasks.known.size === 0)) return undefined;
  const binding = bindingOf(context);
  const tool = tracksTools(deps, context) ? (tasks?.task?.tool ?? message?.facts.tool ?? "") : "";
  // The id that the client has asked with stays the task's. Of others, where none is made, nobody has asked to hear: whoever's
  // they are, what an upstream says of them to everybody gives no right to them.
  return (bytes) =>
    sealTasks(bytes, (id) => tasks?.known.get(id) ?? (tells ? deps.taskIds.seal({ id, tool }, binding) : undefined));
}

class TaskReader implements StreamReceiver {
  readonly #rewrite: Rewrite;
  readonly #next: StreamReceiver;
  #mode: "plain" | "body" | "events" = "plain";
  /** While the body is awaited. */
  #status = 200;
  #headers: UpstreamHeaders = [];
  readonly #body = new GrowingBytes();
  readonly #events = new EventBlocks(MAX_BYTES);

  constructor(rewrite: Rewrite, next: StreamReceiver) {
    this.#rewrite = rewrite;
    this.#next = next;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    const [type = ""] = upstreamHeader(headers, "content-type");
    const isCoded = upstreamHeader(headers, "content-encoding").some((coding) => coding.toLowerCase() !== "identity");
    const isReadable = status === 200 && !isWhole && !isCoded;
    this.#mode = !isReadable ? "plain" : isEventStream(type) ? "events" : isJsonMediaType(type) ? "body" : "plain";
    if (this.#mode === "body") {
      this.#status = status;
      this.#headers = headers;
    } else this.#next.onHead(status, this.#mode === "events" ? withoutThose(headers) : headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#mode === "plain") return this.#next.onData(chunk);
    if (this.#mode === "events") return this.#readEvents(chunk);
    this.#body.push(chunk);
    if (this.#body.length > MAX_BYTES) this.#passBody();
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#mode === "body") {
      const bytes = this.#body.take();
      const sealed = this.#rewrite(bytes);
      const head = sealed && [...withoutThose(this.#headers), "content-length", String(sealed.length)];
      this.#next.onHead(this.#status, head ?? this.#headers);
      this.#next.onData(sealed ?? bytes);
    }
    this.#next.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    this.#next.onFailure(failure, detail);
  }

  refuseAnswer(why: string): void {
    this.#next.refuseAnswer(why);
  }

  #passBody(): void {
    this.#mode = "plain";
    this.#next.onHead(this.#status, this.#headers);
    this.#next.onData(this.#body.take());
  }

  #readEvents(chunk: Buffer): void {
    const blocks = this.#events.push(chunk);
    const pieces = (blocks ?? []).map((block) => {
      const sealed = block.kind === "event" && block.data.length > 0 ? this.#rewrite(block.data) : undefined;
      return sealed && block.kind === "event" ? renderEvent(block.others, sealed.toString("utf8")) : block.raw;
    });
    if (blocks === undefined) {
      this.#mode = "plain";
      pieces.push(this.#events.takeRest());
    }
    // In one piece: whoever takes it waits once where the client is slow.
    if (pieces.length > 0) this.#next.onData(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
  }
}
