/**
 * The lock on a route's tools, and where it has them on prompts, resource templates and instructions: what its server shows is
 * compared with what was reviewed, recorded and counted, and calls of what differs are denied where the route says so.
 */
import { formatDriftRecord } from "../../audit/drift-record.ts";
import type { ListedTools } from "../../mcp/listed-tools.ts";
import type { Notify } from "../../audit/events.ts";
import type { RecordWriter } from "../../audit/record-writer.ts";
import type { ToolDrift } from "../../mcp/tool-locks/check-tools.ts";
import { isLockedAway, NEVER, type ToolState } from "../../mcp/tool-locks/seen-tools.ts";
import { kindOfKey, nameOfKey, type LockedKind } from "../../features/mcp/locked-items.ts";
import { idKey } from "../../mcp/message-id.ts";
import { calledKey, lockedKindOf, type ToolLocks } from "../../mcp/tool-locks/tool-locks.ts";
import type { FoundItem, ListAnswer } from "../../mcp/lists/list-answer.ts";
import type { Decision } from "../../policy/facts.ts";
import { lockedDecision } from "../../mcp/tool-locks/locked-decision.ts";
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

/** What is known of the tool that is called, or of what else is used; undefined for other messages, and on routes without a lock. */
export function calledToolState(
  { toolLocks }: Pick<ToolLockDeps, "toolLocks">,
  { prepared, message, principal }: RequestContext,
): ToolState | undefined {
  const { toolLock, route } = prepared;
  const key = toolLock && message && calledKey(toolLock, message.facts);
  return toolLock && key !== undefined ? toolLocks?.stateOf(route, toolLock, key, viewerOf(principal)) : undefined;
}

function viewerOf(principal: RequestContext["principal"]): string {
  return JSON.stringify([principal?.user.id, principal?.clientId]);
}

/** The denial of a call that policy allows and the lock does not. */
export function lockDenial(deps: ToolLockDeps, context: RequestContext): Decision | undefined {
  const { toolLock } = context.prepared;
  const state = toolLock && calledToolState(deps, context);
  if (state === undefined || !isLockedAway(toolLock, state)) return undefined;
  return lockedDecision(state, context.message?.facts.tool !== undefined);
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
  const asked = lockedKindOf(toolLock, message?.facts.method);
  const askedSince =
    asked && message ? toolLocks.begin(route, viewer, asked, idKey(message.id), !hasCursor(message.bytes)) : NEVER;
  return (bytes, answer, { isError = false, isStray = false } = {}) => {
    const check = toolLocks.check(route, toolLock, bytes, answer);
    if (!isError) {
      const since = (kind: LockedKind): number =>
        isStray ? toolLocks.sinceOf(route, viewer, kind, idKey(answer.id)) : kind === asked ? askedSince : NEVER;
      const news = toolLocks.observe(route, check, { viewer, since });
      if (news.length > 0) tell(deps, context, news);
      if (check.drifts.length > 0) deps.metrics?.toolsDrifted(route, check.drifts);
    }
    if (!mayHide) return NOTHING;
    if (onDrift === "hide" || check.drifted.size === 0) return check.drifted;
    // Under `deny` one sees the tool and hears why it cannot be called. Of one whose name is read in two ways nobody knows
    // which calls to deny; and instructions work without a call.
    const texts = new Set(answer.lists.flatMap(({ kind, items }) => (kind === "instructions" ? items : [])));
    return new Set([...check.drifted].filter((item) => item.name === undefined || texts.has(item)));
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
    drifts: drifts.map(({ key, kind, digest }) => ({ item: kindOfKey(key), name: nameOfKey(key), kind, digest })),
  });
  // At most one line for an answer, and none for what was told: there is nobody to wait for room.
  void records.write(line);
  const tools = drifts.slice(0, MAX_TOLD_TOOLS).map(({ key, kind }) => ({
    name: nameOfKey(key).slice(0, MAX_TOLD_NAME),
    ...(kindOfKey(key) !== "tool" && { item: kindOfKey(key) }),
    change: kind,
  }));
  // The same in every process that sees it.
  const subject = digestOf([route, drifts.map(({ key, kind, digest = "" }) => [key, kind, digest])]);
  notify?.({ type: "tools.drift", subject, data: { route, count: drifts.length, tools } });
}
