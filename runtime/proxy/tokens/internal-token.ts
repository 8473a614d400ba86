/**
 * Internal Tokens on MCP server routes: attached to the request, and replaced if the upstream rejects them (D17).
 *
 * Promises: the client learns neither the token nor the upstream's own challenge, which would lead it past the gateway; a
 * request is sent at most twice; warm connections cost no promise.
 */
import type { CodeWith } from "../../http/codes.ts";
import { respondAgainLater, respondError, respondJson } from "../../http/respond.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import { routeCorsHeaders } from "../cors.ts";
import type { Log } from "../../shared/log.ts";
import { challengeFor, type ChallengeDeps } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import { after, type Step } from "../steps.ts";
import type { RefusedAnswer, UpstreamTokens } from "../upstream-tokens.ts";

export interface InternalTokenDeps extends ChallengeDeps {
  /** Internal Tokens for MCP server routes; absent = none are ever sent. */
  readonly upstream?: UpstreamTokens | undefined;
  readonly log: Log;
}

/** Step: attaches the token to the request, or responds that there is none. */
export function attachInternalToken(deps: InternalTokenDeps): Step {
  return (context) => {
    const { prepared, principal } = context;
    // `remove_request_headers` wins over all headers that we would send (D6).
    if (!deps.upstream || !principal || !prepared.sends.authorization) return "next";
    return after(deps.upstream.tokens.attach(principal.user.id, prepared.route), (attachment) => {
      switch (attachment.kind) {
        case "nothing":
          return "next";
        case "token":
          context.internalToken = attachment;
          return "next";
        case "connect":
        case "unavailable":
        case "denied":
        case "sign-in":
        case "misconfigured":
        case "issuer-changed":
          answerRefused(deps, context, attachment.kind);
          return "done";
        default:
          return attachment satisfies never;
      }
    });
  };
}

/** Handles a response of the upstream about its own authorization. @param attempt 1 for the first attempt */
export type HandleRefusal = (
  attempt: number,
) => Promise<{ readonly retry: true } | { readonly retry: false; readonly status: number }>;

/**
 * @returns undefined when the response is for the client. A 401 of an MCP server never is: the client would repeat our
 * sign-in, which does not change the upstream's rejection, endlessly.
 */
export function refusalOf(
  deps: InternalTokenDeps,
  context: RequestContext,
  status: number,
  headers: UpstreamHeaders,
): HandleRefusal | undefined {
  if (status !== 401 && status !== 403) {
    if (status < 300 && context.prepared.isMcpServer && context.internalToken === undefined)
      deps.upstream?.refusals.passed(context.prepared.route);
    return undefined;
  }
  const { upstream } = deps;
  const { prepared, principal, snapshot } = context;
  if (!prepared.isMcpServer) return undefined;
  const notOurs = status === 401 ? () => answerForOperator(deps, context) : undefined;
  if (!upstream || !principal || !prepared.sends.authorization) return notOurs;
  const answer: RefusedAnswer = {
    status,
    wwwAuthenticate: upstreamHeader(headers, "www-authenticate"),
    accessToken: context.internalToken?.accessToken,
    hasOwnAuthorization: prepared.setRequest.some(({ lower }) => lower === "authorization"),
  };
  if (!upstream.refusals.concerns(prepared.route, snapshot.settings, answer)) return notOurs;
  return async (attempt) => {
    const outcome = await upstream.refusals.handle(principal.user.id, prepared.route, answer, attempt);
    if (outcome.kind === "unresolvable") return answerForOperator(deps, context);
    if (outcome.kind !== "retry") return { retry: false, status: answerRefused(deps, context, outcome.kind) };
    context.internalToken = outcome;
    return { retry: true };
  };
}

/** No sign-in helps: configured credentials are wrong or missing, or the upstream may not be discovered. */
async function answerForOperator(
  deps: InternalTokenDeps,
  context: RequestContext,
): Promise<{ readonly retry: false; readonly status: number }> {
  const { exchange, prepared } = context;
  deps.log.warn(
    { request: exchange.id, route: prepared.route.key },
    "upstream requires credentials that no sign-in provides",
  );
  return { retry: false, status: respondUnauthorized(context) };
}

function respondUnauthorized({ exchange, prepared, corsOrigin }: RequestContext): number {
  const message = `${prepared.route.name} does not accept the gateway's credentials: its operator has to change that`;
  respondError(exchange, 502, { code: "upstream.unauthorized", message }, routeCorsHeaders(corsOrigin));
  return 502;
}

/** @returns the status of the response */
function answerRefused(
  deps: InternalTokenDeps,
  context: RequestContext,
  why: "connect" | "forbidden" | "unavailable" | "denied" | "sign-in" | "misconfigured" | "issuer-changed",
): number {
  const { exchange, prepared } = context;
  const { route } = prepared;
  const cors = routeCorsHeaders(context.corsOrigin);
  switch (why) {
    case "connect": {
      // A client with a company's assertion never sees our authorization endpoint: a challenge would make it request one
      // assertion after another.
      if (context.principal?.assertedBy) {
        const remedy =
          context.principal.kind === "workload"
            ? "and a workload cannot connect it"
            : "which takes a sign-in to this MCP server in a browser";
        const message = `Forbidden: ${route.name} is not connected for this user, ${remedy}`;
        respondJson(exchange, 403, { error: "upstream.not-connected", message, request_id: exchange.id }, cors);
        return 403;
      }
      // 401, so that the client sends its user through our authorization endpoint, which connects the upstream.
      const message = `Unauthorized: connect ${route.name} first, by signing in to this MCP server again`;
      const headers = ["www-authenticate", challengeFor(deps, context, "not-connected"), ...cors];
      respondJson(
        exchange,
        401,
        { error: "unauthorized" satisfies CodeWith<401>, message, request_id: exchange.id },
        headers,
      );
      return 401;
    }
    case "forbidden": {
      const message = `${route.name} requires more access than you granted`;
      respondJson(
        exchange,
        403,
        { error: "upstream.insufficient-scope" satisfies CodeWith<403>, message, request_id: exchange.id },
        cors,
      );
      return 403;
    }
    case "unavailable":
      respondAgainLater(
        exchange,
        {
          code: "upstream.token-unavailable",
          message: `The access to ${route.name} cannot be renewed right now, try again shortly`,
        },
        cors,
      );
      return 503;
    case "denied":
      respondError(
        exchange,
        403,
        {
          code: "upstream.not-permitted",
          message: `Forbidden: your company's identity provider denies you access to ${route.name}`,
        },
        cors,
      );
      return 403;
    case "sign-in":
      // No challenge: an authorization without a new sign-in at the provider would change nothing.
      respondError(
        exchange,
        403,
        {
          code: "upstream.sign-in-needed",
          message: `Forbidden: ${route.name} needs a new sign-in of its user: sign out at ${route.origin}/.gateway/ and sign in again`,
        },
        cors,
      );
      return 403;
    case "misconfigured":
      return respondUnauthorized(context);
    case "issuer-changed": {
      const message = `${route.name} names another authorization server than before: its operator has to confirm the change`;
      respondError(exchange, 502, { code: "upstream.issuer-changed", message }, cors);
      return 502;
    }
    default:
      return why satisfies never;
  }
}
