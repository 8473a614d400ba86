/** Steps of MCP server routes that read the token of a request, and the proof of its key (DPoP). */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { Authenticator } from "../../identity/interfaces.ts";
import type { AuthFailureReason, Principal } from "../../identity/principal.ts";
import type { DecideDeps } from "../decide.ts";
import { refuseUnauthorized, type ChallengeDeps } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import { after, type Step } from "../steps.ts";

/** Step: before the body, so that nothing of an unknown caller is parsed. */
export function authenticateToken(deps: DecideDeps & ChallengeDeps & { readonly authenticator: Authenticator }): Step {
  return (context) => {
    const { route } = context.prepared;
    const credential = presentedToken(context.exchange.header("authorization"));
    if (!credential.ok) return refuseUnauthorized(deps, context, credential.reason);
    const resource = route.mcp?.kind === "server" ? route.mcp.resource : "";
    const audience = { resource, origin: route.origin, server: route, checksProof: credential.isDpop };
    return after(deps.authenticator.bearer(credential.token, audience), (result) => {
      if (!result.ok) return refuseUnauthorized(deps, context, result.reason);
      const { principal } = result;
      const failure = credential.isDpop ? proofFailure(deps, context, principal, credential.token) : undefined;
      if (failure !== undefined) return refuseUnauthorized(deps, context, failure);
      context.principal = principal;
      return "next";
    });
  };
}

/** After the token, since a signature costs more: unauthenticated requests do not get here. */
function proofFailure(
  { proofs }: Pick<ChallengeDeps, "proofs">,
  context: RequestContext,
  { keyThumbprint }: Principal,
  accessToken: string,
): AuthFailureReason | undefined {
  const { exchange, prepared } = context;
  const { route } = prepared;
  // The scheme is only for bound tokens (RFC 9449 §7.1).
  if (keyThumbprint === undefined) return "malformed";
  const { method, path } = exchange;
  const headers = exchange.headerValues("dpop");
  const needsNonce = wantsNonce(context.snapshot, route);
  const proof = proofs.check({ method, origin: route.origin, path, accessToken, headers, needsNonce });
  if (!proof.ok) return proof.reason === "nonce" ? "proof-nonce" : "proof-invalid";
  return proof.thumbprint === keyThumbprint ? undefined : "proof-invalid";
}

/** A federated route checks the proof for its members as well: the strictest one decides. */
function wantsNonce(snapshot: Snapshot, { mcp }: CompiledRoute): boolean {
  if (mcp?.kind !== "server") return false;
  if (mcp.dpopNonce || mcp.members === undefined) return mcp.dpopNonce;
  return [...mcp.members.values()].some((key) => {
    const member = findRoute(snapshot, key)?.mcp;
    return member?.kind === "server" && member.dpopNonce;
  });
}

/** Step: also for members of federated routes, whose caller the federated route has authenticated. */
export function requireBoundToken(deps: DecideDeps & ChallengeDeps): Step {
  return (context) => {
    const { mcp } = context.prepared.route;
    const isMissing =
      mcp?.kind === "server" && mcp.dpop === "required" && context.principal?.keyThumbprint === undefined;
    return isMissing ? refuseUnauthorized(deps, context, "not-bound") : "next";
  };
}

type Credential =
  | { readonly ok: true; readonly token: string; readonly isDpop: boolean }
  | { readonly ok: false; readonly reason: AuthFailureReason };

/**
 * The token of an Authorization header (RFC 6750 §2.1, RFC 9449 §7.1). A token in the query is never read.
 *
 * The text after the scheme is checked as a whole: the seal of our tokens has exactly one form.
 */
function presentedToken(authorization: string | undefined): Credential {
  if (authorization === undefined) return { ok: false, reason: "missing" };
  const isDpop = hasScheme(authorization, DPOP);
  const token =
    isDpop || hasScheme(authorization, BEARER) ? authorization.slice(authorization.indexOf(" ")).trim() : "";
  return token === "" ? { ok: false, reason: "malformed" } : { ok: true, token, isDpop };
}

function hasScheme(authorization: string, scheme: string): boolean {
  return authorization.length > scheme.length && authorization.slice(0, scheme.length).toLowerCase() === scheme;
}

const BEARER = "bearer ";
const DPOP = "dpop ";
