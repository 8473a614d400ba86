/**
 * Asks a client with a session what a member without sessions needs to know (`input_required`, MCP 2026-07-28), while the
 * client's call is open.
 *
 * Untrusted input: the member's questions, the client's answers. Promises: only what the client declared is asked, bounded in
 * number and time; an answer counts for the question that this caller got.
 */
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { bindingOf } from "../announced-address.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { PendingAnswers } from "./pending-answers.ts";
import type { MemberCall } from "./member-call.ts";
import { SELF } from "./client.ts";
import type { MemberSeals } from "./member-seals.ts";

const MAX_QUESTIONS = 16;
/** The member has nothing to ask, and wants to be asked again. */
const AGAIN_MS = 1_000;

/** Questions that clients with sessions know, and the capability for each. */
const CAPABILITY_OF: ReadonlyMap<unknown, string> = new Map([
  ["elicitation/create", "elicitation"],
  ["sampling/createMessage", "sampling"],
  ["roots/list", "roots"],
]);

/** @returns members of the repeated request; a text: why there is none */
export async function askForInput(
  { answers, seals }: { readonly answers: PendingAnswers; readonly seals: MemberSeals },
  { context, client, member, reply }: MemberCall,
  result: MessageJson,
): Promise<MessageJson | string> {
  const { requestState } = result;
  const { name } = member.prepared.route;
  const state = typeof requestState === "string" ? { requestState } : {};
  const questions = Object.entries(recordOf(result["inputRequests"]));
  const gone = new AbortController();
  context.exchange.onClose(() => gone.abort());
  if (questions.length === 0) {
    await pause(AGAIN_MS, gone.signal);
    return gone.signal.aborted ? "The client has disconnected" : state;
  }
  if (questions.length > MAX_QUESTIONS) return `${name} asks more than ${MAX_QUESTIONS} questions at once`;
  for (const [, request] of questions) {
    const capability = CAPABILITY_OF.get(recordOf(request)["method"]);
    if (capability === undefined || client.legacyCapabilities[capability] === undefined)
      return `${name} asks the client something that it cannot be asked`;
  }
  const pending: { readonly input: string; readonly answer: Promise<MessageJson | undefined> }[] = [];
  for (const [input, request] of questions) {
    const begun = answers.begin(bindingOf(context).userId, gone.signal);
    if (begun === undefined) {
      gone.abort();
      return "Too many questions are open";
    }
    const { method, params } = recordOf(request);
    const id = seals.questions.seal(context, { prefix: SELF, version: "", session: undefined, id: begun.key });
    pending.push({ input, answer: begun.answer });
    reply.before({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
  }
  const inputResponses: Record<string, unknown> = {};
  const given = await Promise.all(pending.map(async ({ input, answer }) => [input, await answer] as const));
  for (const [input, response] of given) {
    if (response === undefined) return "The client did not answer in time";
    if (!isRecord(response["result"])) return "The client could not answer a question of the server";
    inputResponses[input] = response["result"];
  }
  return { ...state, inputResponses };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
