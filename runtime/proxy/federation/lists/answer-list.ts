/** The response to a request for a list: the lists of all members as one. */
import { recordOf, writeJson, type MessageJson } from "../../../mcp/federation/json.ts";
import { keepsFor, mayHide, type ListDeps } from "../../lists/list-rules.ts";
import type { RequestContext } from "../../request-context.ts";
import { collect, type AskingClient, type CollectDeps, type Collected } from "./collect.ts";
import { listedTools } from "../discovery/find-tools.ts";
import type { Gaps } from "../gaps.ts";
import { MERGED, mergeLists, type MergedLists, type MergedMethod } from "./lists.ts";
import type { ClientReply } from "../reply.ts";

/** `_meta` of a list without the items of some members. */
const UNAVAILABLE_META = "gateform/unavailable";
/** `_meta` of a list without items whose names with prefix are too long. */
const TOO_LONG_META = "gateform/too-long";
const [MAX_LONG, MAX_LONG_NAME] = [10, 256];

interface AnswerListDeps extends ListDeps, CollectDeps {
  readonly gaps: Gaps;
}

export async function answerList(
  deps: AnswerListDeps,
  context: RequestContext,
  client: AskingClient,
  method: MergedMethod,
  body: MessageJson,
  reply: ClientReply,
): Promise<void> {
  if (recordOf(body["params"])["cursor"] !== undefined) return reply.error(-32602, "Unknown cursor");
  const { items: all, text, lists, gaps, dropped } = await mergedList(deps, context, client, method);
  const items = method === "tools/list" ? listedTools(context, all) : all;
  const shown = gaps.filter(({ reason }) => reason !== "denied");
  const long = dropped.slice(0, MAX_LONG).map((name) => name.slice(0, MAX_LONG_NAME));
  const missing = shown.map(({ member, reason }) => ({ member: member.prefix, reason }));
  const ttlMs = missing.length > 0 ? 0 : Math.min(...lists.map((list) => list.ttlMs ?? 0), Number.MAX_SAFE_INTEGER);
  const rest = writeJson({
    ...((missing.length > 0 || long.length > 0) && {
      _meta: {
        ...(missing.length > 0 && { [UNAVAILABLE_META]: missing }),
        ...(long.length > 0 && { [TOO_LONG_META]: long }),
      },
    }),
    ...(client.isModern && { resultType: "complete", ttlMs: lists.length === 0 ? 0 : ttlMs, cacheScope: "private" }),
  });
  const list = `"${MERGED[method].member}":${items === all ? text() : writeJson(items)}`;
  reply.resultText(rest === "{}" ? `{${list}}` : `{${list},${rest.slice(1)}`);
}

/** All items that the caller can use. */
export async function mergedList(
  deps: AnswerListDeps,
  context: RequestContext,
  client: AskingClient,
  method: MergedMethod,
): Promise<Collected & MergedLists> {
  const { lists, gaps } = await collect(deps, context, method, client);
  deps.gaps.tellAll(context, gaps);
  const { prepared } = context;
  const keeps = mayHide(deps, prepared) ? keepsFor(deps, context)() : () => true;
  const { mcp } = prepared.route;
  const claims = mcp?.kind === "server" ? mcp.resourcePrefixes : [];
  const merged = mergeLists(method, lists, claims, keeps);
  deps.gaps.tellDropped(context, merged.dropped);
  return { ...merged, lists, gaps };
}
