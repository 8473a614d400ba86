/** The way of a request on an MCP server route: programs with an External Token (D10, D11). */
import type { Exchange } from "../http/exchange.ts";
import { namesMessageAddress } from "../shared/http/query.ts";
import { respondBytes, respondJson } from "../http/respond.ts";
import { inspect, type Inspection } from "../mcp/inspect.ts";
import type { McpMessage } from "../mcp/message.ts";
import { denialAnswer, refusalAnswer, type WireAnswer } from "../mcp/refuse.ts";
import type { McpSessions } from "../mcp/sessions.ts";
import { epochSeconds } from "../shared/clock.ts";
import type { AuthFailureReason, AuthResult } from "../identity/principal.ts";
import { bindingOf, openAddress } from "./announced-address.ts";
import { answerRoutePreflight, judgeOrigin, routeCorsHeaders } from "./cors.ts";
import { decide, recordRefusal } from "./decide.ts";
import { withInternalToken } from "./internal-token.ts";
import type { Passage } from "./request-context.ts";
import { answerUnavailable, forwardAllowed, guard, proceed, type StepDeps } from "./steps.ts";

export interface McpDeps extends StepDeps {
  readonly mcpSessions: McpSessions;
}

/** A client that sends its message slower than this is cut off. */
const MESSAGE_TIMEOUT_MS = 30_000;

export function serveMcpRoute(deps: McpDeps, passage: Passage): void {
  const { exchange, plan, snapshot } = passage;
  const { route } = plan;

  // Servers MUST validate Origin (MCP transports): a page must not reach an MCP server through its visitor's browser.
  const origin = judgeOrigin(exchange, route, snapshot.settings);
  if (origin === "foreign") {
    proceed(deps, passage, recordRefusal(deps, passage, "origin-not-allowed"), () =>
      answer(passage, 403, { error: "origin.not-allowed", message: "Forbidden: this Origin may not call here" }),
    );
    return;
  }
  if (origin !== "none") passage.corsOrigin = exchange.header("origin");

  // Before authentication: browsers send preflights without credentials.
  if (exchange.method === "OPTIONS") {
    answerRoutePreflight(exchange, passage.corsOrigin);
    return;
  }

  // Before the body: nothing of an unknown caller is parsed.
  const credential = bearerToken(exchange.header("authorization"));
  if (!credential.ok) {
    answerUnauthorized(deps, passage, credential.reason);
    return;
  }
  const resource = route.mcp?.kind === "server" ? route.mcp.resource : "";
  const audience = { resource, origin: route.origin, server: route };
  proceed(deps, passage, deps.authenticator.bearer(credential.token, audience), (result) =>
    authenticated(deps, passage, result),
  );
}

function authenticated(deps: McpDeps, passage: Passage, result: AuthResult): void {
  if (!result.ok) {
    answerUnauthorized(deps, passage, result.reason);
    return;
  }
  passage.principal = result.principal;
  const { exchange, plan } = passage;
  passage.mcpPath = plan.mcpPaths?.find(exchange.path);
  if (passage.mcpPath === undefined) {
    answerNotServed(deps, passage);
    return;
  }
  if (namesMessageAddress(exchange.query)) {
    passage.messageAddress = openAddress(deps.forwarding.messageAddresses, passage, epochSeconds(deps.clock));
    if (passage.messageAddress === undefined) {
      answerSessionUnknown(deps, passage, "mcp-message-address-unknown");
      return;
    }
  }
  const maxBytes = plan.route.mcp?.kind === "server" ? plan.route.mcp.maxRequestBytes : 0;
  const timer = exchange.hasBody ? setTimeout(() => exchange.abort(), MESSAGE_TIMEOUT_MS) : undefined;
  const done = (inspection: Inspection): void => {
    clearTimeout(timer);
    guard(deps, passage, () => inspected(deps, passage, inspection));
  };
  // Where rules speak of tools, names that an upstream might fold or trim into another one are refused.
  const { route } = plan;
  const needsPlainTools = route.policy.needsTool || deps.blocks?.hasTools(route.key) === true;
  inspect(exchange, maxBytes, done, needsPlainTools ? PLAIN_TOOL_NAMES : undefined);
}

const PLAIN_TOOL_NAMES = { toolNames: "recommended" } as const;

function inspected(deps: McpDeps, passage: Passage, inspection: Inspection): void {
  const { exchange } = passage;
  if (!inspection.ok) {
    proceed(deps, passage, recordRefusal(deps, passage, inspection.reason), () =>
      answerWire(passage, refusalAnswer(inspection, exchange.id)),
    );
    return;
  }
  // A message may take half a minute to come, and the right to send it may have ended meanwhile.
  const ended = endOf(deps, passage);
  if (ended !== undefined) {
    answerUnauthorized(deps, passage, ended);
    return;
  }
  const { message } = inspection;
  passage.message = message?.bytes;

  if (!openSession(deps, passage, message)) {
    answerSessionUnknown(deps, passage, "mcp-session-unknown");
    return;
  }

  const { decision, recorded } = decide(deps, passage, message);
  if (decision.allowed) withInternalToken(deps, passage, () => forwardAllowed(deps, passage, recorded));
  else {
    // Old clients look for the answer to a call in their stream, and read no more of this one than its status.
    const readsBody = passage.messageAddress === undefined;
    proceed(deps, passage, recorded, () =>
      answerWire(passage, denialAnswer(message, decision, exchange.id, readsBody)),
    );
  }
}

/**
 * The client that was registered anew in the middle of a session is why these are long: to whom a session belongs does not
 * change with a registration, and one that does not begin anew by itself shows its user these words.
 */
const SESSION_UNKNOWN = {
  "mcp-session-unknown":
    "Session not found: it has ended, or belongs to another user, or the client was registered anew since; the client must initialize anew",
  "mcp-message-address-unknown":
    "Session not found: its event stream has ended, or belongs to another user, or the client was registered anew since; the client must open the stream anew",
} as const;

/** 404 makes the client start a new session; 401 would make it sign in again (MCP 2025-11-25, Session Management). */
function answerSessionUnknown(deps: McpDeps, passage: Passage, reason: keyof typeof SESSION_UNKNOWN): void {
  const error = {
    code: -32001,
    message: SESSION_UNKNOWN[reason],
    data: { reason, request_id: passage.exchange.id },
  };
  proceed(deps, passage, recordRefusal(deps, passage, reason), () => answer(passage, 404, { jsonrpc: "2.0", error }));
}

function endOf(deps: McpDeps, { principal }: Passage): "expired" | "revoked" | undefined {
  if (!principal) return undefined;
  if (principal.expiresAt <= epochSeconds(deps.clock)) return "expired";
  return deps.revocations.isRevoked(principal.revocationKeys) ? "revoked" : undefined;
}

/** @returns false when the request names a session that is not this caller's on this route */
function openSession(deps: McpDeps, passage: Passage, message: McpMessage | undefined): boolean {
  // Revision 2026-07-28 knows no sessions: the header is not forwarded.
  if (message?.isModern === true) return true;
  const sealed = passage.exchange.header("mcp-session-id");
  if (sealed === undefined) return true;
  passage.upstreamSession = deps.mcpSessions.open(sealed, bindingOf(passage));
  return passage.upstreamSession !== undefined;
}

/** Makes an upstream's session id ours; undefined when it is none that a client would accept. */
export function sealSession(sessions: McpSessions, passage: Passage, upstreamSession: string): string | undefined {
  return sessions.seal(upstreamSession, bindingOf(passage), passage.exchange.header("mcp-session-id"));
}

/** Says where the endpoint is: the metadata of the route tells everybody, too. */
function answerNotServed(deps: McpDeps, passage: Passage): void {
  const { mcp } = passage.plan.route;
  const endpoint = mcp?.kind === "server" ? mcp.resource : "";
  const message = `This address of an MCP server is not served; its endpoint is ${endpoint}`;
  proceed(deps, passage, recordRefusal(deps, passage, "mcp-path-not-served"), () =>
    answer(passage, 404, { error: "mcp.path-not-served", message }),
  );
}

type Credential =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly reason: AuthFailureReason };

/**
 * The token of an Authorization header (RFC 6750 §2.1). A token in the query is never looked at.
 *
 * What stands behind the scheme is judged whole: the seal around our tokens has one spelling.
 */
function bearerToken(authorization: string | undefined): Credential {
  if (authorization === undefined) return { ok: false, reason: "missing" };
  const isBearer =
    authorization.length > SCHEME.length && authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
  const token = isBearer ? authorization.slice(SCHEME.length).trim() : "";
  return token === "" ? { ok: false, reason: "malformed" } : { ok: true, token };
}

const SCHEME = "bearer ";

function answerUnauthorized(deps: McpDeps, passage: Passage, reason: AuthFailureReason): void {
  const recorded = recordRefusal(deps, passage, `credential-${reason}`);
  proceed(deps, passage, recorded, () => answerBadCredential(deps, passage, reason));
}

function answerBadCredential(deps: McpDeps, passage: Passage, reason: AuthFailureReason): void {
  if (reason === "unavailable") {
    answerUnavailable(passage, passage.corsOrigin === undefined ? [] : routeCorsHeaders(passage.corsOrigin));
    return;
  }
  const { route } = passage.plan;
  const challenge = deps.challenge(route, route.origin, reason, addressedPath(passage.exchange));
  answer(passage, 401, { error: "unauthorized", message: "Unauthorized" }, ["www-authenticate", challenge]);
}

/** A sealed address is no resource of its own: whoever asks for it is sent to the route's. */
function addressedPath({ path, query }: Exchange): string | undefined {
  return namesMessageAddress(query) ? undefined : path;
}

function answer(passage: Passage, status: number, body: object, headers: readonly string[] = []): void {
  const cors = passage.corsOrigin === undefined ? [] : routeCorsHeaders(passage.corsOrigin);
  respondJson(passage.exchange, status, { ...body, request_id: passage.exchange.id }, [...headers, ...cors]);
}

function answerWire(passage: Passage, wire: WireAnswer): void {
  const { exchange } = passage;
  const cors = passage.corsOrigin === undefined ? [] : routeCorsHeaders(passage.corsOrigin);
  const body = Buffer.from(wire.body);
  respondBytes(
    exchange,
    wire.status,
    ["x-request-id", exchange.id, "content-length", String(body.length), ...wire.headers, ...cors],
    body,
  );
}
