/** The response to `find_tools`: definitions of the tools that the caller can use, the best matches first. */
import { DEFAULT_FOUND, discoveryTools, FIND_TOOLS, readSearch, USE_TOOL } from "../../../mcp/federation/discovery.ts";
import { recordOf, writeJson, type MessageJson } from "../../../mcp/federation/json.ts";
import { searchTools } from "../../../mcp/federation/search-tools.ts";
import type { RequestContext } from "../../request-context.ts";
import type { AskingClient } from "../lists/collect.ts";
import type { ClientReply } from "../reply.ts";

/** Definitions in one response, in UTF-16 units of JSON; the first one always is in it. */
const MAX_RESULT = 262_144;

/** Whether the message is a call of `find_tools` on a route that has it. */
export function isFindTools({ prepared: { route } }: RequestContext, body: MessageJson): boolean {
  const isOn = route.mcp?.kind === "server" && route.mcp.searchToolsAbove !== undefined;
  return isOn && body["method"] === "tools/call" && recordOf(body["params"])["name"] === FIND_TOOLS;
}

/** @param listTools all tools that the caller can use, as a list would have them @param args of the call */
export async function answerFindTools(
  listTools: () => Promise<readonly MessageJson[]>,
  client: AskingClient,
  args: unknown,
  reply: ClientReply,
): Promise<void> {
  const asked = readSearch(args);
  if (typeof asked === "string") return reply.error(-32602, asked);
  const tools = await listTools();
  const found = searchTools(tools, asked.query, asked.limit);
  const texts: string[] = [];
  let size = 0;
  for (const tool of found) {
    const text = writeJson(tool);
    size += text.length;
    if (texts.length > 0 && size > MAX_RESULT) break;
    texts.push(text);
  }
  const text =
    texts.length === 0
      ? `No tool matches. ${tools.length} tools were searched; try other words.`
      : `Call one with ${USE_TOOL}.\n[${texts.join(",\n")}]`;
  reply.result({ content: [{ type: "text", text }], ...(client.isModern && { resultType: "complete" }) });
}

/** The tools as a list has them: two instead of all if there are too many. */
export function listedTools(
  { prepared: { route } }: RequestContext,
  tools: readonly MessageJson[],
): readonly MessageJson[] {
  const above = route.mcp?.kind === "server" ? route.mcp.searchToolsAbove : undefined;
  return above === undefined || tools.length <= above ? tools : discoveryTools(tools.length);
}

/** For the greeting: models call unlisted tools only when told of them. */
export function discoveryInstructions({ prepared: { route } }: RequestContext): string | undefined {
  if (route.mcp?.kind !== "server" || route.mcp.searchToolsAbove === undefined) return undefined;
  return `Not all tools are listed. If ${FIND_TOOLS} is, search with it (it returns up to ${DEFAULT_FOUND} tools) before you say that something is not possible, then call a tool with ${USE_TOOL}.`;
}
