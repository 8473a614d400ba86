/**
 * The lock on a route's tools: what its lists show is compared with what was reviewed, recorded and counted, and calls of
 * tools that differ are denied where the route says so.
 */
import { formatDriftRecord } from "../../audit/drift-record.ts";
import type { ListedTools } from "../../mcp/listed-tools.ts";
import type { Notify } from "../../audit/events.ts";
import type { RecordWriter } from "../../audit/record-writer.ts";
import type { ToolDrift } from "../../mcp/tool-locks/check-tools.ts";
import { isLockedAway, NEVER, type ToolState } from "../../mcp/tool-locks/seen-tools.ts";
import { idKey } from "../../mcp/message-id.ts";
import type { ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import type { FoundItem, ListAnswer } from "../../mcp/lists/list-answer.ts";
import type { Decision } from "../../policy/facts.ts";
import { lockedDecision } from "../../policy/tool-lock.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { Clock } from "../../shared/clock.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { RequestContext } from "../request-context.ts";

export interface ToolLockDeps {
  /** Absent: no route has a lock. */
  readonly toolLocks?: ToolLocks;
  /** Absent: what rules about tools do not cover is not reported. */
  readonly listedTools?: ListedTools;
  readonly records: RecordWriter;
  readonly metrics?: ProxyMetrics;
  readonly clock: Clock;
  /** Absent: nobody is told. */
  readonly notify?: Notify;
}

/**
 * With `show` in it, what only the lock would leave out is listed: for who reviews, such as `gateway tools`. It keeps no secret
 * from anybody: whatever the caller's policy hides stays hidden.
 */
const SHOW_HEADER = "x-gateway-tool-lock";

/** What is known of the tool that is called; undefined for other messages, and on routes without a lock. */
export function calledToolState(
  { toolLocks }: Pick<ToolLockDeps, "toolLocks">,
  { prepared, message, principal }: RequestContext,
): ToolState | undefined {
  const { toolLock, route } = prepared;
  const tool = message?.facts.tool;
  return toolLock && tool !== undefined ? toolLocks?.stateOf(route, toolLock, tool, viewerOf(principal)) : undefined;
}

function viewerOf(principal: RequestContext["principal"]): string {
  return JSON.stringify([principal?.user.id, principal?.clientId]);
}

/** The denial of a call that policy allows and the lock does not. */
export function lockDenial(deps: ToolLockDeps, context: RequestContext): Decision | undefined {
  const { toolLock } = context.prepared;
  const state = toolLock && calledToolState(deps, context);
  return state !== undefined && isLockedAway(toolLock, state) ? lockedDecision(state) : undefined;
}

export interface ReadOptions {
  /** No client takes it for tools that it may use. */
  readonly isError?: boolean;
  /** It may be no answer to this request. */
  readonly isStray?: boolean;
}

/** Looks at an answer with a list. @returns the items that are left out */
export type LockReader = (bytes: Buffer, answer: ListAnswer, options?: ReadOptions) => ReadonlySet<FoundItem>;

/** @returns undefined on routes without a lock */
export function lockReaderFor(deps: ToolLockDeps, context: RequestContext): LockReader | undefined {
  const { toolLock, route } = context.prepared;
  const { toolLocks } = deps;
  if (toolLock === undefined || toolLocks === undefined) return undefined;
  const { onDrift } = toolLock;
  const mayHide = onDrift !== "warn" && context.exchange.header(SHOW_HEADER) !== "show";
  const { message, principal } = context;
  const viewer = viewerOf(principal);
  const asked =
    message?.facts.method === "tools/list"
      ? toolLocks.begin(route, viewer, idKey(message.id), !hasCursor(message.bytes))
      : undefined;
  return (bytes, answer, { isError = false, isStray = false } = {}) => {
    const check = toolLocks.check(route, toolLock, bytes, answer);
    if (!isError) {
      const since = isStray ? toolLocks.sinceOf(route, viewer, idKey(answer.id)) : (asked ?? NEVER);
      const news = toolLocks.observe(route, check, { viewer, since });
      if (news.length > 0) tell(deps, context, news);
      if (check.drifts.length > 0) deps.metrics?.toolsDrifted(route, check.drifts);
    }
    if (!mayHide) return NOTHING;
    // Under `deny` one sees the tool and hears why it cannot be called. Of one whose name is read in two ways nobody knows
    // which calls to deny.
    return onDrift === "hide" ? check.drifted : new Set([...check.drifted].filter(({ name }) => name === undefined));
  };
}

/** Whether a request for a list is one for another page. */
function hasCursor(request: Buffer): boolean {
  const { params } = JSON.parse(request.toString("utf8")) as { readonly params?: unknown };
  return isRecord(params) && params["cursor"] !== undefined && params["cursor"] !== null;
}

const NOTHING: ReadonlySet<FoundItem> = new Set();

/** Of what a server makes up, no more than an event may hold. */
const MAX_TOLD_TOOLS = 10;
const MAX_TOLD_NAME = 128;

function tell({ records, clock, notify }: ToolLockDeps, context: RequestContext, drifts: readonly ToolDrift[]): void {
  const { exchange, snapshot, prepared, principal } = context;
  const route = prepared.route.key;
  const line = formatDriftRecord({
    timeMs: clock.now(),
    requestId: exchange.id,
    bundleDigest: snapshot.digest,
    route,
    user: principal?.user,
    drifts,
  });
  // At most one line for an answer, and none for what was told: there is nobody to wait for room.
  void records.write(line);
  const tools = drifts
    .slice(0, MAX_TOLD_TOOLS)
    .map(({ tool, kind }) => ({ name: tool.slice(0, MAX_TOLD_NAME), change: kind }));
  // The same in every process that sees it.
  const subject = digestOf([route, drifts.map(({ tool, kind, digest = "" }) => [tool, kind, digest])]);
  notify?.({ type: "tools.drift", subject, data: { route, count: drifts.length, tools } });
}
