/**
 * Responses to calls that history rules may require (`after`): whether the call has succeeded.
 *
 * Untrusted input: the upstream's response. Promises: only a JSON-RPC result for the request's own ID, with status 200 and
 * without `isError`, is a success; a response that cannot be read, or is larger than `MAX_BYTES`, is none. The last bytes
 * reach the client once a success is stored, so that the client's next call finds it, at any replica. So do those of a
 * call that `not_after` has to remember, whatever its response.
 */
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { markArrival, markOutcomes } from "../../limits/history/decide.ts";
import type { TaskOutcomes } from "../../limits/history/task-outcomes.ts";
import { EventBlocks } from "../../mcp/lists/event-blocks.ts";
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { readCallOutcome, type CallOutcome } from "../../mcp/operations/call-outcome.ts";
import { type Guarded, guard } from "../../shared/faults/guard.ts";
import type { UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { StreamReceiver } from "../announced-address.ts";
import { type BodyForm, bodyForm } from "../forwarding/response-headers.ts";
import type { HistoryDeps } from "./check.ts";
import type { RequestContext } from "../request-context.ts";
import { taskReaderFor, type TaskDeps } from "../tasks/task-reader.ts";

export interface OutcomeDeps extends HistoryDeps {
  readonly taskOutcomes?: TaskOutcomes;
}

/** Longer results are passed on unread. */
const MAX_BYTES = 1024 * 1024;

export type CallReaderDeps = OutcomeDeps & TaskDeps;

/** The readers of a response for its outcome and its tasks, as far as needed. @param owner ends with their errors */
export function callReaderFor(
  deps: CallReaderDeps,
  context: RequestContext,
  next: StreamReceiver,
  owner: Guarded,
): StreamReceiver {
  const tasks = taskReaderFor(deps, context, next);
  const store = context.prepared.history && storeFor(deps, context);
  const { history: plan } = context;
  const { history } = deps;
  const arrive = plan && history && plan.marks.length > 0 ? () => markArrival(plan, history) : undefined;
  return store || arrive ? new OutcomeReader(context, { store, arrive }, tasks, owner) : tasks;
}

interface Remembers {
  readonly store: StoreOutcome | undefined;
  /** The result of a call arrives. */
  readonly arrive: (() => Promise<unknown> | undefined) | undefined;
}

type StoreOutcome = (outcome: CallOutcome) => Promise<void> | undefined;

/** @returns undefined if no rule needs the outcome */
function storeFor(
  { history, taskOutcomes }: OutcomeDeps,
  { history: plan, prepared, message, tasks, principal }: RequestContext,
): StoreOutcome | undefined {
  const { history: route } = prepared;
  if (route?.needsOutcomes !== true || history === undefined || message?.kind !== "request") return undefined;
  const outcomes = plan?.outcomes ?? [];
  const userId = principal?.user.id;
  if (outcomes.length > 0)
    return (outcome) => {
      if (outcome.kind === "success") return markOutcomes(outcomes, history);
      return outcome.kind === "task" ? taskOutcomes?.keep({ id: outcome.id, userId }, outcomes) : undefined;
    };
  const id = tasks?.task?.id;
  if (id === undefined || taskOutcomes === undefined) return undefined;
  return ({ kind }) =>
    kind === "success" || kind === "failure"
      ? taskOutcomes.settle(route, { id, userId }, kind === "success")
      : undefined;
}

class OutcomeReader implements StreamReceiver {
  readonly #context: RequestContext;
  readonly #remembers: Remembers;
  readonly #next: StreamReceiver;
  readonly #owner: Guarded;
  #mode: BodyForm = "plain";
  readonly #body = new GrowingBytes();
  readonly #events = new EventBlocks(MAX_BYTES);
  /** The latest piece of a body: it may be the last one. */
  #last: Buffer | undefined;
  /** While an outcome is being stored: everything that follows. */
  #held: (() => void)[] | undefined;
  #heldBytes = 0;

  constructor(context: RequestContext, remembers: Remembers, next: StreamReceiver, owner: Guarded) {
    this.#context = context;
    this.#remembers = remembers;
    this.#next = next;
    this.#owner = owner;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    this.#mode = bodyForm(status, headers, isWhole);
    this.#next.onHead(status, headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#held) {
      this.#heldBytes += chunk.length;
      // Nothing has to follow a response.
      if (this.#heldBytes > MAX_BYTES) this.refuseAnswer("more data after the response than is kept");
      else this.#held.push(() => void this.#next.onData(chunk));
      return;
    }
    if (this.#mode === "events") {
      for (const block of this.#readEvents(chunk)) {
        if (this.#storeOutcome(block)) break;
        // Notifications about tasks carry results.
        if (this.#context.message?.facts.method === "subscriptions/listen") this.#arrived();
      }
      return this.#pass(chunk);
    }
    if (this.#mode === "plain") return this.#next.onData(chunk);
    this.#body.push(chunk);
    const before = this.#last;
    this.#last = chunk;
    if (before) this.#next.onData(before);
    if (this.#body.length > MAX_BYTES) this.#leaveBody();
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#mode === "body") this.#storeOutcome(this.#body.take());
    this.#arrived();
    this.#later(() => this.#next.onEnd(trailers));
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    this.#arrived();
    this.#later(() => this.#next.onFailure(failure, detail));
  }

  refuseAnswer(why: string): void {
    this.#held = undefined;
    this.#next.refuseAnswer(why);
  }

  /** Also a response that cannot be read, or that was aborted. */
  #arrived(): void {
    if (!this.#held) this.#hold(this.#remembers.arrive?.());
    this.#leaveBody();
  }

  #leaveBody(): void {
    const last = this.#last;
    this.#last = undefined;
    this.#mode = "plain";
    if (last) this.#pass(last);
  }

  #readEvents(chunk: Buffer): readonly Buffer[] {
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) this.#mode = "plain";
    return (blocks ?? []).flatMap((block) => (block.kind === "event" && block.data.length > 0 ? [block.data] : []));
  }

  /** @returns whether this was the response */
  #storeOutcome(bytes: Buffer): boolean {
    const { message } = this.#context;
    const outcome = message && readCallOutcome(bytes, message);
    if (outcome === undefined) return false;
    this.#mode = "plain";
    // Of a task, the outcome is still unknown.
    if (this.#context.outcome && outcome.kind !== "task")
      this.#context.outcome.hasSucceeded = outcome.kind === "success";
    const { store, arrive } = this.#remembers;
    const work = [store?.(outcome), arrive?.()].filter((each) => each !== undefined);
    if (work.length > 0) this.#hold(Promise.all(work));
    return true;
  }

  #hold(stored: Promise<unknown> | undefined): void {
    if (stored === undefined) return;
    this.#held = [];
    this.#heldBytes = 0;
    const release = guard(this.#owner, () => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const each of held) each();
    });
    void stored.then(release, release);
  }

  #pass(chunk: Buffer): boolean | void {
    if (!this.#held) return this.#next.onData(chunk);
    this.#held.push(() => void this.#next.onData(chunk));
  }

  #later(run: () => void): void {
    if (this.#held) this.#held.push(run);
    else run();
  }
}
