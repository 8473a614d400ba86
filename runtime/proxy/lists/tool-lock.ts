/**
 * The lock on a route's tools, and if configured on prompts, resource templates and instructions. The items that the server
 * lists are compared with the lock, and differences are recorded and counted. Calls of changed items are denied if the route
 * says so.
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
  /** Absent: tools without a rule are not reported. */
  readonly listedTools?: ListedTools;
  readonly records: RecordWriter;
  readonly metrics?: ProxyMetrics;
  readonly clock: Clock;
  /** Absent: no notifications. */
  readonly notify?: Notify;
}

/**
 * With `show`, lists items that only the lock would hide: for reviewers, such as `gateway tools`. It discloses nothing: items
 * that the caller's policy hides stay hidden.
 */
const SHOW_HEADER = "x-gateway-tool-lock";

/** State of the tool or other item that a message uses; undefined for other messages, and on routes without a lock. */
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

/** The denial of a call that the policy allows but the lock does not. */
export function lockDenial(deps: ToolLockDeps, context: RequestContext): Decision | undefined {
  const { toolLock } = context.prepared;
  const state = toolLock && calledToolState(deps, context);
  if (state === undefined || !isLockedAway(toolLock, state)) return undefined;
  return lockedDecision(state, context.message?.facts.tool !== undefined);
}

export interface ReadOptions {
  /** No client reads it as usable tools. */
  readonly isError?: boolean;
  /** It may not be a response to this request. */
  readonly isStray?: boolean;
}

/** Checks a response with a list. @returns the items to hide */
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
  // An entry is not a page of a list: it ends no difference, and pages that follow belong to their own list.
  const listedBy = message?.facts.method === "skills/get" ? undefined : message?.facts.method;
  const requestedKind = lockedKindOf(toolLock, listedBy);
  const requestedSince =
    requestedKind && message
      ? toolLocks.begin(route, viewer, requestedKind, idKey(message.id), !hasCursor(message.bytes))
      : NEVER;
  return (bytes, answer, { isError = false, isStray = false } = {}) => {
    const check = toolLocks.check(route, toolLock, bytes, answer);
    if (!isError) {
      const since = (kind: LockedKind): number =>
        isStray
          ? toolLocks.sinceOf(route, viewer, kind, idKey(answer.id))
          : kind === requestedKind
            ? requestedSince
            : NEVER;
      const updates = toolLocks.observe(route, check, { viewer, since });
      if (updates.length > 0) reportDrifts(deps, context, updates);
      if (check.drifts.length > 0) deps.metrics?.toolsDrifted(route, check.drifts);
    }
    if (!mayHide) return NOTHING;
    if (onDrift === "hide" || check.drifted.size === 0) return check.drifted;
    // With `deny` the tool stays listed, and a call gets the reason. Hidden anyway: an item whose name is ambiguous, since
    // calls of it cannot be recognized; instructions, which work without a call; and a single entry.
    const texts = new Set(
      answer.lists.flatMap(({ kind, items, isSingle }) => (kind === "instructions" || isSingle ? items : [])),
    );
    return new Set([...check.drifted].filter((item) => item.name === undefined || texts.has(item)));
  };
}

/** True if a request for a list asks for a later page. */
function hasCursor(request: Buffer): boolean {
  const { params } = JSON.parse(request.toString("utf8")) as { readonly params?: unknown };
  return isRecord(params) && params["cursor"] !== undefined && params["cursor"] !== null;
}

const NOTHING: ReadonlySet<FoundItem> = new Set();

/** Limits for names that a server chooses, so that an event stays small. */
const MAX_SENT_TOOLS = 10;
const MAX_SENT_NAME = 128;

function reportDrifts(
  { records, clock, notify }: ToolLockDeps,
  context: RequestContext,
  drifts: readonly ToolDrift[],
): void {
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
  // At most one line per response, and none for drifts already recorded: no need to wait for room in the queue.
  void records.write(line);
  const tools = drifts.slice(0, MAX_SENT_TOOLS).map(({ key, kind }) => ({
    name: nameOfKey(key).slice(0, MAX_SENT_NAME),
    ...(kindOfKey(key) !== "tool" && { item: kindOfKey(key) }),
    change: kind,
  }));
  // The same in every process that sees it.
  const subject = digestOf([route, drifts.map(({ key, kind, digest = "" }) => [key, kind, digest])]);
  notify?.({ type: "tools.drift", subject, data: { route, count: drifts.length, tools } });
}
