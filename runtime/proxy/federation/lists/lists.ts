/**
 * Lists of all members as one. Each member's list has passed its own route, with its policy and lock.
 *
 * Untrusted input: the members' lists. Promises: bounded in pages, items and time; a member that fails takes only its own
 * items away; of items with one name the first member's counts.
 */
import { outwardTool } from "../../../mcp/federation/carry.ts";
import { advertise, advertiseUri } from "../../../mcp/federation/names.ts";
import { requestFor, type ClientSide } from "../../../mcp/federation/eras.ts";
import { numberOf, recordOf, writeJson, type MessageJson } from "../../../mcp/federation/json.ts";
import type { ListedItem } from "../../../policy/reach.ts";
import type { RequestContext } from "../../request-context.ts";
import { answerTo, askMember, type RunMember } from "../ask-member.ts";
import type { GapReason } from "../gaps.ts";
import { failureOf, type Link } from "../links.ts";

/** Lists that are merged: where the items are, what names one, and whether names get the member's prefix. */
export const MERGED = {
  "tools/list": { member: "tools", name: "name", kind: "tool", isPrefixed: true },
  "prompts/list": { member: "prompts", name: "name", kind: "prompt", isPrefixed: true },
  "resources/list": { member: "resources", name: "uri", kind: "resource", isPrefixed: false },
  "resources/templates/list": {
    member: "resourceTemplates",
    name: "uriTemplate",
    kind: "template",
    isPrefixed: false,
  },
  "skills/list": { member: "skills", name: "uri", kind: "skill", isPrefixed: false },
} as const;

export type MergedMethod = keyof typeof MERGED;

const MAX_PAGES = 16;
const MAX_ITEMS = 2_000;
/** All pages together, as much as one response. */
const MAX_BYTES = 8 * 1024 * 1024;
const LIST_MS = 5_000;

export interface MemberList {
  readonly prefix: string;
  /** As the member lists them. */
  readonly items: readonly MessageJson[];
  /** Undefined: no hint. */
  readonly ttlMs: number | undefined;
  /** Set if items are missing. */
  readonly failure: GapReason | undefined;
  /** Size of the responses. */
  readonly bytes: number;
}

/** Counts the bytes of a response that is kept until all members have responded. @returns false: there is no room */
export type Hold = (bytes: number) => boolean;

/** All pages of one member; "gone": it does not know the session. */
export async function listOf(
  run: RunMember,
  caller: RequestContext,
  link: Link,
  method: MergedMethod,
  client: ClientSide,
  hold: Hold,
): Promise<MemberList | "gone"> {
  const { member } = link;
  const { prefix } = member;
  const { member: key } = MERGED[method];
  const items: MessageJson[] = [];
  const cursors = new Set<unknown>();
  let ttlMs: number | undefined;
  let bytes = 0;
  const endMs = performance.now() + LIST_MS;
  const ended = (failure: MemberList["failure"]): MemberList => ({ prefix, items, ttlMs, failure, bytes });
  for (let cursor: unknown; ;) {
    const params = cursor === undefined ? {} : { cursor };
    // Not an ID of the client's own requests in the same session.
    const id = `gateform-${cursors.size}`;
    const message = requestFor({ jsonrpc: "2.0", id, method, params }, link.isModern, client);
    const { version, session } = link;
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) return ended("unavailable");
    const answer = await askMember(run, caller, member, { method: "POST", message, version, session }, leftMs);
    if (typeof answer === "string") return ended("unavailable");
    const reply = answerTo(answer, id);
    if (reply?.["result"] === undefined) {
      if (answer.status === 404 && session !== undefined) return "gone";
      const code = recordOf(reply?.["error"])["code"];
      // A server without this kind of items.
      return ended(numberOf(code) === -32601 ? undefined : failureOf(answer));
    }
    bytes += answer.size;
    if (bytes > MAX_BYTES) return ended("too-long");
    if (!hold(answer.size)) return ended("unavailable");
    const result = recordOf(reply["result"]);
    const page = result[key];
    if (!Array.isArray(page)) return ended("invalid");
    items.push(...page.map(recordOf));
    ttlMs = leastOf(ttlMs, result["ttlMs"]);
    if (items.length > MAX_ITEMS) {
      items.length = MAX_ITEMS;
      return ended("too-long");
    }
    cursor = result["nextCursor"];
    if (cursor === undefined || cursor === null) return ended(undefined);
    if (cursors.has(cursor) || cursors.size === MAX_PAGES) return ended("invalid");
    cursors.add(cursor);
  }
}

function leastOf(known: number | undefined, given: unknown): number | undefined {
  const value = numberOf(given) ?? Number.NaN;
  if (!(value >= 0)) return known;
  return known === undefined ? value : Math.min(known, value);
}

export interface MergedLists {
  /** As clients see them. */
  readonly items: readonly MessageJson[];
  /** Names that are too long. */
  readonly dropped: readonly string[];
  /** JSON of the items. */
  readonly text: () => string;
}

/** Starts of URIs that belong to one member. */
export type Claims = readonly (readonly [string, string])[];

/** @returns the member that a URI or the text before a template's first expression belongs to by configuration */
export function claimantOf(claims: Claims, uri: string): string | undefined {
  return claims.find(([start]) => uri.startsWith(start))?.[1];
}

/**
 * @param lists in order of the prefixes
 * @param keeps what the federated route's own policy lets the caller use
 */
export function mergeLists(
  method: MergedMethod,
  lists: readonly MemberList[],
  claims: Claims,
  keeps: (item: ListedItem) => boolean,
): MergedLists {
  const { name: naming, isPrefixed } = MERGED[method];
  const merged = new Map<string, Outward>();
  const dropped: string[] = [];
  for (const { prefix, items: own } of lists) {
    for (const item of own) {
      const name = item[naming];
      if (typeof name !== "string") continue;
      if (!isPrefixed && isOfOther(claims, prefix, name)) continue;
      const outward = outwardOf(method, prefix, item, name);
      if (outward === undefined) dropped.push(`${prefix}: ${name}`);
      else if (!merged.has(outward.name) && keeps(outward.listed)) merged.set(outward.name, outward);
    }
  }
  const outward = [...merged.values()];
  return { items: outward.map(({ item }) => item), dropped, text: () => textOf(outward) };
}

function textOf(items: readonly Outward[]): string {
  let text = "";
  for (const each of items) text += `${text === "" ? "[" : ","}${(each.text ??= writeJson(each.item))}`;
  return text === "" ? "[]" : `${text}]`;
}

/** An item as clients see it. */
interface Outward {
  readonly prefix: string;
  readonly name: string;
  readonly listed: ListedItem;
  readonly item: MessageJson;
  /** JSON of the item, made for the first list. */
  text?: string;
}

/** Kept lists are merged at each use. Each item is from the response to one method. */
const knownOutward = new WeakMap<MessageJson, Outward>();

/** @returns undefined if its name is too long */
function outwardOf(method: MergedMethod, prefix: string, item: MessageJson, name: string): Outward | undefined {
  const known = knownOutward.get(item);
  if (known?.prefix === prefix) return known;
  const { name: naming, isPrefixed } = MERGED[method];
  const advertised = isPrefixed ? advertise(prefix, name) : advertiseUri(prefix, name);
  if (advertised === undefined) return undefined;
  const named = advertised === name ? item : { ...item, [naming]: advertised };
  const shown = method === "tools/list" ? outwardTool(prefix, named) : named;
  const outward: Outward = { prefix, name: advertised, listed: listedAs(method, advertised), item: shown };
  knownOutward.set(item, outward);
  return outward;
}

/** Whether a URI belongs to another member by configuration. */
function isOfOther(claims: Claims, prefix: string, uri: string): boolean {
  const claimant = claims.length === 0 ? undefined : claimantOf(claims, uri);
  return claimant !== undefined && claimant !== prefix;
}

/** @returns the item of a member's list for its policy; undefined for one without a name */
export function listedOf(method: MergedMethod, item: MessageJson): ListedItem | undefined {
  const name = item[MERGED[method].name];
  return typeof name === "string" ? listedAs(method, name) : undefined;
}

function listedAs(method: MergedMethod, name: string): ListedItem {
  const { kind } = MERGED[method];
  if (kind === "tool" || kind === "prompt") return { kind, name };
  return kind === "template" ? { kind, uriTemplate: name } : { kind, uri: name };
}
