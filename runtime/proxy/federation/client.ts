/** Facts about the client of one message. */
import type { ClientSide } from "../../mcp/federation/eras.ts";
import { readMessageText, recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import type { PlainCall } from "../../mcp/federation/plain-call.ts";
import { CLIENT_CAPABILITIES } from "../../mcp/members.ts";
import type { RequestContext } from "../request-context.ts";
import type { AskingClient } from "./lists/collect.ts";

/** Key of the client's own capabilities among its members' sessions; no prefix is empty. */
export const SELF = "";

/** Facts about the client of a call that is not parsed. */
export function plainClientOf(context: RequestContext, { capabilities }: PlainCall): AskingClient {
  if (capabilities === "") return clientOf(context, {});
  return { isModern: true, side: new PlainSide(capabilities), legacyCapabilities: {}, sessions: undefined };
}

class PlainSide implements ClientSide {
  readonly isModern = true;
  readonly #text: string;

  /** @param text of the capabilities */
  constructor(text: string) {
    this.#text = text;
  }

  get capabilities(): MessageJson {
    return readMessageText(this.#text) ?? {};
  }
}

export function clientOf({ message, memberSessions }: RequestContext, body: MessageJson): AskingClient {
  const params = recordOf(body["params"]);
  if (message?.isModern === true) {
    const capabilities = recordOf(recordOf(params["_meta"])[CLIENT_CAPABILITIES]);
    return { isModern: true, side: { isModern: true, capabilities }, legacyCapabilities: {}, sessions: undefined };
  }
  const kept = memberSessions?.get(SELF);
  const declared = kept === undefined ? recordOf(params["capabilities"]) : (JSON.parse(kept) as MessageJson);
  const legacyCapabilities = onlyKnown(declared);
  return {
    isModern: false,
    // Only a session can be asked something during a call (input.ts).
    side: { isModern: false, capabilities: memberSessions ? askable(legacyCapabilities) : {} },
    legacyCapabilities,
    sessions: memberSessions,
  };
}

/** Bounded: they are part of the session ID. */
function onlyKnown(declared: MessageJson): MessageJson {
  const names = ["roots", "sampling", "elicitation"].filter((name) => declared[name] !== undefined);
  const known = Object.fromEntries(names.map((name) => [name, recordOf(declared[name])]));
  return JSON.stringify(known).length > MAX_CAPABILITIES ? {} : known;
}

const MAX_CAPABILITIES = 1_024;

/** Capabilities for members of the later revision: the mode of elicitation that both revisions have alike, and no changes of roots. */
function askable({ roots, sampling, elicitation }: MessageJson): MessageJson {
  return {
    ...(roots !== undefined && { roots: {} }),
    ...(sampling !== undefined && { sampling }),
    ...(elicitation !== undefined && { elicitation: { form: {} } }),
  };
}
