/**
 * The stream of a client with a session (GET): the streams of its members as one, or the rest of a response that it has not
 * got.
 *
 * Untrusted input: the members' streams. Promises: requests of members reach the client under an ID that only this caller can
 * answer; a member's stream that ends ends no other.
 */
import { outwardMessage, outwardResult } from "../../../mcp/federation/carry.ts";
import { resultFor, withoutHopMeta } from "../../../mcp/federation/eras.ts";
import { idText, recordOf, type MessageJson } from "../../../mcp/federation/json.ts";
import { UPDATED, mayHearOf } from "../../lists/stream-reader.ts";
import { guard } from "../../../shared/faults/guard.ts";
import type { ChangedList } from "../../lists/list-changes.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember } from "../ask-member.ts";
import { clientOf } from "../client.ts";
import type { Gaps } from "../gaps.ts";
import { changedList, changeOf, forgetList } from "../lists/changed-lists.ts";
import { ClientStream, LISTS, type ClientStreamDeps } from "./client-stream.ts";
import type { Link } from "../links.ts";
import type { ListCache } from "../lists/list-cache.ts";
import type { Owners } from "../lists/owners.ts";
import { MemberStream, type MemberStreamDeps } from "./member-stream.ts";
import type { MemberSeals, StreamPosition } from "../member-seals.ts";

export interface MergedStreamDeps extends ClientStreamDeps, MemberStreamDeps {
  readonly seals: MemberSeals;
  readonly cache: ListCache;
  readonly owners: Owners;
  readonly gaps: Gaps;
}

const MAX_EVENT_ID = 256;
const MAX_POSITION = 4_096;
const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
/** Only in revision 2026-07-28. */
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** @param position where the client's earlier stream was */
export function mergeStreams(
  deps: MergedStreamDeps,
  context: RequestContext,
  links: readonly Link[],
  position: StreamPosition | undefined,
): void {
  const stream = ClientStream.open(deps, context);
  if (stream === undefined) return;
  context.lastEventId = "";
  const ids = new Map(position?.ids);
  const tell = (list: ChangedList): boolean => stream.write(changeOf(list));
  stream.follow(deps, context.prepared.route.key, tell);
  for (const link of links) {
    const { member } = link;
    const { prefix } = member;
    const options = { context, link, notifications: ALL_LISTS, lastEventId: ids.get(prefix) };
    const reader = new MemberStream(deps, options, {
      take(message, id) {
        const isKept = id !== undefined && id.length <= MAX_EVENT_ID;
        if (isKept) ids.set(prefix, id);
        const sealed = isKept ? positionOf(deps, context, ids) : undefined;
        const own = message === "none" ? message : passed(deps, context, link, message);
        if (own === undefined) return true;
        if (own === "none" || own["method"] !== UPDATED) return stream.write(own, sealed);
        const pass = guard(context.exchange, (isRight: boolean) => void (isRight && stream.write(own, sealed)));
        isOwn(deps, context, member, own).then(pass, (error: unknown) => context.exchange.broke(error));
        return true;
      },
      alive: () => stream.keepAlive(),
      none: () => stream.follow(deps, member.prepared.route.key, tell),
      gone() {
        ids.delete(prefix);
        for (const list of LISTS) tell(list);
      },
    });
    reader.open();
  }
}

/** @returns undefined if it is too long for a header: the client then gets what comes after it reopens the stream */
function positionOf(
  { seals }: MergedStreamDeps,
  context: RequestContext,
  ids: ReadonlyMap<string, string>,
): string | undefined {
  const sealed = seals.positions.seal(context, { ids: [...ids] });
  return sealed.length <= MAX_POSITION ? sealed : undefined;
}

/** @returns undefined for a message that is not for the client */
function passed(
  deps: MergedStreamDeps,
  context: RequestContext,
  link: Link,
  message: MessageJson,
): MessageJson | undefined {
  const { method } = message;
  // A response of another stream of the member.
  if (typeof method !== "string" || method === ACKNOWLEDGED) return undefined;
  const list = changedList(method);
  if (list !== undefined) forgetList(deps.cache, context, link.member, list);
  const own = withoutHopMeta(outwardMessage(link.member.prefix, message));
  if (method === UPDATED && !mayHearOf(context, String(recordOf(own["params"])["uri"]))) return undefined;
  return asked(deps, context, link, own);
}

/** Whether the resource that has changed belongs to the member. A client can subscribe to no other one there. */
async function isOwn(
  { owners, gaps }: MergedStreamDeps,
  context: RequestContext,
  member: RouteMember,
  message: MessageJson,
): Promise<boolean> {
  const { uri } = recordOf(message["params"]);
  const owner = await owners.find(context, clientOf(context, {}), String(uri));
  if (typeof owner !== "string" && owner.prefix === member.prefix) return true;
  if (owner !== "busy") gaps.tellForeign(context, member);
  return false;
}

function asked({ seals }: MergedStreamDeps, context: RequestContext, link: Link, message: MessageJson): MessageJson {
  const id = idText(message["id"]);
  if (id === undefined) return message;
  const { member, version, session } = link;
  return { ...message, id: seals.questions.seal(context, { prefix: member.prefix, version, session, id }) };
}

/** The rest of a response, whose beginning the client has. */
export function resumeCall(
  deps: MergedStreamDeps,
  context: RequestContext,
  link: Link,
  { call, ids }: StreamPosition & { readonly call: NonNullable<StreamPosition["call"]> },
): void {
  const stream = ClientStream.open(deps, context);
  if (stream === undefined) return;
  context.lastEventId = "";
  const { prefix, method } = call;
  const options = { context, link, notifications: {}, lastEventId: ids[0]?.[1] };
  new MemberStream(deps, options, {
    take(message, id) {
      const sealed = id === undefined ? undefined : deps.seals.positions.seal(context, { call, ids: [[prefix, id]] });
      if (message === "none") return stream.write(message, sealed);
      if (typeof message["method"] === "string")
        return stream.write(asked(deps, context, link, outwardMessage(prefix, message)), sealed);
      const { result } = message;
      const own = result === undefined ? message : { ...message, result: carried(prefix, method, recordOf(result)) };
      stream.write(own, sealed);
      context.exchange.end();
      return true;
    },
    alive: () => stream.keepAlive(),
    none: () => context.exchange.end(),
    gone: () => context.exchange.end(),
  }).open();
}

function carried(prefix: string, method: string, result: MessageJson): MessageJson {
  return resultFor(method, outwardResult(prefix, method, result), false);
}
