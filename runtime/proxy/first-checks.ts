/** Steps before authentication: blocked routes, client certificates, WebSocket origins. */
import type { Exchange } from "../http/exchange.ts";
import { respondBytes, respondError } from "../http/respond.ts";
import { denialAnswer } from "../mcp/refuse.ts";
import { BLOCKED, blockedDecision } from "../policy/blocks.ts";
import { canRecord, refuseUnrecorded } from "./answers/unrecorded.ts";
import { refuse, type DecideDeps } from "./decide.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { RequestContext } from "./request-context.ts";
import type { Step } from "./steps.ts";

/** The first steps on any route. */
export function firstChecks(deps: ClientCertificateDeps): readonly Step[] {
  return [requireRecording(deps), refuseBlockedRoute(deps), requireClientCertificate(deps), refuseWebSocket(deps)];
}

function requireRecording(deps: DecideDeps): Step {
  if (deps.auditRequired !== true) return goOn;
  return (context) => (canRecord(deps) ? "next" : refuseUnrecorded(context));
}

/** Step: rejects every request to a blocked route. Only the record names the block, not the response. */
function refuseBlockedRoute(deps: DecideDeps): Step {
  const { blocks } = deps;
  if (blocks === undefined) return goOn;
  return (context) => {
    const { exchange, prepared } = context;
    if (blocks.size === 0) return "next";
    const block = blocks.find({ routeKey: prepared.route.key });
    if (!block) return "next";
    const decision = blockedDecision(block);
    return refuse(deps, context, decision, () => {
      if (!prepared.isMcpServer) return answerBlocked(context);
      const { status, headers, body } = denialAnswer(undefined, decision, exchange.id);
      const own = ["x-request-id", exchange.id, "content-length", String(Buffer.byteLength(body))];
      respondBytes(exchange, status, [...own, ...headers], body);
    });
  };
}

/** On an ordinary route. */
export function answerBlocked({ exchange }: RequestContext): void {
  respondError(exchange, 403, { code: BLOCKED, message: "Access is blocked at the moment" });
}

export interface ClientCertificateDeps extends DecideDeps {
  /** Routes answer 495 to clients without a valid certificate (`downstream_mtls`). */
  readonly requiresClientCertificate?: boolean;
}

/** Step: stops requests without a valid certificate if the gateway requires one. */
function requireClientCertificate(deps: ClientCertificateDeps): Step {
  if (deps.requiresClientCertificate !== true) return goOn;
  return (context) => {
    const { clientCertificate } = context.exchange;
    if (clientCertificate?.isValid === true) return "next";
    const reason = clientCertificate ? "invalid-client-certificate" : "client-certificate-required";
    const message = clientCertificate
      ? "The gateway does not accept the certificate of this client"
      : "This address requires a client certificate";
    return refuse(deps, context, reason, () =>
      // 495: "SSL certificate error", as in nginx and others. No RFC has a status for it.
      respondError(context.exchange, 495, { code: `access.${reason}`, message }),
    );
  };
}

/**
 * Step: rejects WebSocket if the route does not accept it, or not from this page. Browsers send cookies with a handshake that
 * any page starts, and let it read the responses. There is no preflight, so a foreign Origin must be rejected here.
 */
function refuseWebSocket(deps: DecideDeps): Step {
  return (context) => {
    const { exchange, prepared } = context;
    if (exchange.upgrade === undefined) return "next";
    const origin = exchange.header("origin");
    const isTaken = prepared.route.allowWebsockets && !prepared.isMcpServer;
    if (isTaken && (origin === undefined || origin === routeOrigin(exchange, prepared))) return "next";
    deps.metrics?.refused("websocket");
    return refuse(deps, context, isTaken ? "origin-not-allowed" : "websocket-not-allowed", () =>
      respondError(exchange, 403, {
        code: "websocket.refused",
        message: "This address does not accept WebSocket from here",
      }),
    );
  };
}

/** Scheme and host of the route, as seen by the client. */
function routeOrigin(exchange: Exchange, { route, scheme }: PreparedRoute): string {
  return route.isWildcard ? `${scheme}://${exchange.host}` : route.origin;
}

function goOn(): "next" {
  return "next";
}
