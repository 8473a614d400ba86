/** The readers that the response of an MCP server passes before the client gets it. */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { MessageAddresses } from "../../mcp/message-address.ts";
import type { UpstreamReceiver } from "../../upstreams/transport-types.ts";
import { announcementReader } from "../announced-address.ts";
import type { GuardrailDeps } from "../guardrail/ask.ts";
import { resultReaderFor } from "../guardrail/result-reader.ts";
import { callReaderFor, type CallReaderDeps } from "../history/outcome.ts";
import type { AnswerReader, ListReceiver } from "./list-receiver.ts";
import type { ListDeps } from "./list-rules.ts";
import { answerReaderFor } from "./member-reader.ts";
import type { RequestContext } from "../request-context.ts";

export interface McpReaderDeps extends ListDeps, CallReaderDeps, GuardrailDeps {
  readonly messageAddresses: MessageAddresses;
}

/**
 * @param lists reader of lists, which stays the same while it asks for more pages
 * @param last passes the response on to the client
 * @returns the first one
 */
export function mcpReaders(
  deps: McpReaderDeps,
  context: RequestContext,
  upstream: Upstream,
  lists: AnswerReader | undefined,
  last: ListReceiver,
): UpstreamReceiver {
  const checked = resultReaderFor(deps, context, lists ?? last, last);
  const calls = callReaderFor(deps, context, checked, last);
  const isStream = context.exchange.method === "GET";
  const announcing = isStream ? announcementReader(deps.messageAddresses, context, upstream, calls) : calls;
  return answerReaderFor(deps, context, lists, announcing, calls, last);
}
