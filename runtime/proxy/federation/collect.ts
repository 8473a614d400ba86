/** Asks all members of a route at the same time, each for itself: none waits for, or fails with, another. */
import type { ClientSide } from "../../mcp/federation/eras.ts";
import type { MessageJson } from "../../mcp/federation/json.ts";
import type { MemberSessions } from "../../mcp/federation/sessions.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteMember, RunMember } from "./ask-member.ts";
import type { Gap } from "./gaps.ts";
import type { Link, Links } from "./links.ts";
import { listOf, type MemberList, type MergedMethod } from "./lists.ts";
import { membersOf } from "./members.ts";

/** Facts about the client of one request. */
export interface AskingClient {
  readonly isModern: boolean;
  /** Sent to members of the later revision. */
  readonly side: ClientSide;
  /** Declared to members with sessions. */
  readonly legacyCapabilities: MessageJson;
  /** Undefined: the client has no session. */
  readonly sessions: MemberSessions | undefined;
}

export interface OpenedLinks {
  readonly links: readonly Link[];
  readonly gaps: readonly Gap[];
}

export async function openAll(
  links: Links,
  caller: RequestContext,
  members: readonly RouteMember[],
  { sessions, legacyCapabilities }: AskingClient,
  timeoutMs?: number,
): Promise<OpenedLinks> {
  const opened: Link[] = [];
  const gaps: Gap[] = [];
  const all = await Promise.all(
    members.map((member) => links.open(caller, member, sessions, legacyCapabilities, timeoutMs)),
  );
  for (const [index, link] of all.entries()) {
    if (typeof link === "string") gaps.push({ member: members[index] as RouteMember, reason: link });
    else opened.push(link);
  }
  return { links: opened, gaps };
}

export interface Collected {
  /** In order of the prefixes. */
  readonly lists: readonly MemberList[];
  readonly gaps: readonly Gap[];
}

export async function collect(
  deps: { readonly run: RunMember; readonly links: Links },
  caller: RequestContext,
  method: MergedMethod,
  client: AskingClient,
): Promise<Collected> {
  const gaps: Gap[] = [];
  const lists: MemberList[] = [];
  const members = membersOf(caller);
  const all = await Promise.all(
    members.map(async (member) => {
      const link = await deps.links.open(caller, member, client.sessions, client.legacyCapabilities);
      if (typeof link === "string") return link;
      const list = await listOf(deps.run, caller, link, method, client.side);
      link.close();
      return list;
    }),
  );
  for (const [index, list] of all.entries()) {
    const reason = typeof list === "string" ? list : list.failure;
    if (reason !== undefined) gaps.push({ member: members[index] as RouteMember, reason });
    if (typeof list !== "string") lists.push(list);
  }
  return { lists, gaps };
}
