/** Step: opens the session ID of a client of the earlier revisions, which has the members' own inside. */
import { LEGACY_VERSIONS, MODERN } from "../../mcp/federation/eras.ts";
import type { FederatedSessions } from "../../mcp/federation/sessions.ts";
import { errorBody, JSON_ANSWER } from "../../mcp/refuse.ts";
import { answerWire } from "../answers/answer-wire.ts";
import { bindingOf } from "../announced-address.ts";
import type { DecideDeps } from "../decide.ts";
import { refuseUnknownSession } from "../mcp-route.ts";
import type { Step } from "../steps.ts";

export function openFederatedSession(deps: DecideDeps & { readonly federatedSessions: FederatedSessions }): Step {
  return (context) => {
    const { exchange, message } = context;
    const version = exchange.header("mcp-protocol-version");
    const isKnown =
      message?.isModern === true ? version === MODERN : version === undefined || LEGACY_VERSIONS.includes(version);
    if (!isKnown) {
      const supported = message?.isModern === true ? [MODERN] : [MODERN, ...LEGACY_VERSIONS];
      const data = { supported, requested: version, request_id: exchange.id };
      const error = { code: -32022, message: "Unsupported protocol version", data };
      context.operation?.failed(error.code);
      answerWire(context, { status: 400, headers: JSON_ANSWER, body: errorBody(message?.id, error) });
      return "done";
    }
    if (message?.isModern === true) return "next";
    const sealed = exchange.header("mcp-session-id");
    if (sealed === undefined) return "next";
    context.memberSessions = deps.federatedSessions.open(sealed, bindingOf(context));
    return context.memberSessions === undefined ? refuseUnknownSession(deps, context, "mcp-session-unknown") : "next";
  };
}
