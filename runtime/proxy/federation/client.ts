/** Facts about the client of one message. */
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import type { RequestContext } from "../request-context.ts";
import type { AskingClient } from "./collect.ts";

/** Key of the client's own capabilities among its members' sessions; no prefix is empty. */
export const SELF = "";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const TASKS = "io.modelcontextprotocol/tasks";

export function clientOf({ message, memberSessions }: RequestContext, body: MessageJson): AskingClient {
  const params = recordOf(body["params"]);
  if (message?.isModern === true) {
    const capabilities = withoutTasks(recordOf(recordOf(params["_meta"])[CAPABILITIES]));
    return { isModern: true, side: { isModern: true, capabilities }, legacyCapabilities: {}, sessions: undefined };
  }
  const kept = memberSessions?.get(SELF);
  const declared = kept === undefined ? recordOf(params["capabilities"]) : (JSON.parse(kept) as MessageJson);
  return {
    isModern: false,
    // A member of the later revision must ask nothing of a client that cannot understand it.
    side: { isModern: false, capabilities: {} },
    legacyCapabilities: onlyKnown(declared),
    sessions: memberSessions,
  };
}

/** Tasks are not served here. */
function withoutTasks(capabilities: MessageJson): MessageJson {
  const { tasks: _, extensions, ...rest } = capabilities;
  const others = Object.entries(recordOf(extensions)).filter(([name]) => name !== TASKS);
  return extensions === undefined ? rest : { ...rest, extensions: Object.fromEntries(others) };
}

/** Bounded: they are part of the session ID. */
function onlyKnown(declared: MessageJson): MessageJson {
  const names = ["roots", "sampling", "elicitation"].filter((name) => declared[name] !== undefined);
  const known = Object.fromEntries(names.map((name) => [name, recordOf(declared[name])]));
  return JSON.stringify(known).length > MAX_CAPABILITIES ? {} : known;
}

const MAX_CAPABILITIES = 1_024;
