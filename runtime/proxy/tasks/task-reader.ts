/**
 * Responses that may contain tasks, on their way to a client: their IDs are sealed for it.
 *
 * Untrusted input: the upstream's response. A response that is too large to parse passes unchanged: an unsealed ID opens
 * nothing (open-tasks.ts).
 */
import type { Blocks } from "../../identity/blocks.ts";
import { EventBlocks, renderEvent } from "../../mcp/lists/event-blocks.ts";
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { sealTasks, withoutTaskList } from "../../mcp/tasks/task-answers.ts";
import type { TaskIds } from "../../mcp/tasks/task-ids.ts";
import { isAboutTask, mayMakeTask } from "../../mcp/tasks/task-requests.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamHeaders } from "../../upstreams/transport-types.ts";
import { bindingOf, type StreamReceiver } from "../announced-address.ts";
import { type BodyForm, bodyForm } from "../forwarding/response-headers.ts";
import { withoutBodyHeaders } from "../lists/list-receiver.ts";
import type { RequestContext } from "../request-context.ts";
import { tracksTools } from "./open-tasks.ts";

export interface TaskDeps {
  readonly taskIds: TaskIds;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "find" | "hasTools" | "blockedTools">;
}

/** Larger responses contain no new task; finished results may be larger, and are passed on. */
const MAX_BYTES = 1024 * 1024;

/** Wraps the receiver of a response that may contain tasks. */
export function taskReaderFor(deps: TaskDeps, context: RequestContext, next: StreamReceiver): StreamReceiver {
  const rewrite = rewriteFor(deps, context);
  return rewrite ? new TaskReader(rewrite, next) : next;
}

type Rewrite = (bytes: Buffer) => Buffer | undefined;

/** @returns undefined if no task can be named */
function rewriteFor(deps: TaskDeps, context: RequestContext): Rewrite | undefined {
  const { message, tasks, exchange } = context;
  if (message?.facts.method === "initialize") return withoutTaskList;
  const mayNameTasks =
    message === undefined ? exchange.method === "GET" : isAboutTask(message.facts.method) || mayMakeTask(message);
  if (!mayNameTasks && (tasks === undefined || tasks.known.size === 0)) return undefined;
  const binding = bindingOf(context);
  const tool = tracksTools(deps, context) ? (tasks?.task?.tool ?? message?.facts.tool ?? "") : "";
  // IDs from the request stay valid. Others are sealed only if the response can create or report tasks: an upstream's mention
  // of another caller's task must give no right to it.
  return (bytes) =>
    sealTasks(
      bytes,
      (id) => tasks?.known.get(id) ?? (mayNameTasks ? deps.taskIds.seal({ id, tool }, binding) : undefined),
    );
}

class TaskReader implements StreamReceiver {
  readonly #rewrite: Rewrite;
  readonly #next: StreamReceiver;
  #mode: BodyForm = "plain";
  /** While the body is incomplete. */
  #status = 200;
  #headers: UpstreamHeaders = [];
  readonly #body = new GrowingBytes();
  readonly #events = new EventBlocks(MAX_BYTES);

  constructor(rewrite: Rewrite, next: StreamReceiver) {
    this.#rewrite = rewrite;
    this.#next = next;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    this.#mode = bodyForm(status, headers, isWhole);
    if (this.#mode === "body") {
      this.#status = status;
      this.#headers = headers;
    } else this.#next.onHead(status, this.#mode === "events" ? withoutBodyHeaders(headers) : headers, isWhole);
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
      const head = sealed && [...withoutBodyHeaders(this.#headers), "content-length", String(sealed.length)];
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
    // In one piece: the receiver then waits once if the client is slow.
    if (pieces.length > 0) this.#next.onData(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
  }
}
