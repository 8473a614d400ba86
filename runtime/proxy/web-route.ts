/** Steps of ordinary routes and MCP client routes: users with a browser session, programs with a token. */
import { respondError } from "../http/respond.ts";
import type { Authenticator, ProgramCredentials, SignIn } from "../identity/interfaces.ts";
import { helpfulProviders, otherProviders } from "../identity/sign-in/choose-provider.ts";
import { nameOf, type AuthResult } from "../identity/principal.ts";
import { visibleText } from "../shared/json/visible-text.ts";
import { isBlocked } from "../policy/blocks.ts";
import { isAmbiguous } from "../policy/evaluate.ts";
import { denialDetails } from "../policy/explain.ts";
import { type Answers, decide, refuse, refuseAnonymous, refuseUnavailable, type DecideDeps } from "./decide.ts";
import { answerDevice, deviceReason, type DeviceDeps } from "./device.ts";
import { answerBlocked } from "./first-checks.ts";
import { answerLimited, type LimitDeps } from "./answers/limit-request.ts";
import { setCaller, type RequestContext } from "./request-context.ts";
import { after, type StepOutcome, type Step } from "./steps.ts";

export interface ProgramDeps extends DecideDeps {
  /** Absent = programs cannot use ordinary routes. */
  readonly programs?: ProgramCredentials;
}

/** Step: if `bearer_token_format` is the provider's, its token comes before any cookie. */
export function authenticateProviderToken(deps: ProgramDeps): Step {
  return (context) => {
    const { exchange, prepared } = context;
    if (prepared.route.bearerTokenFormat === "default") return "next";
    const shown = deps.programs?.providerBearer(exchange, prepared.route);
    return shown === undefined ? "next" : after(shown, (result) => takeProgram(deps, context, result));
  };
}

/** Step: the browser session, if no program was recognized. */
export function authenticateCookie({ authenticator }: { readonly authenticator: Authenticator }): Step {
  return (context) => {
    if (context.principal !== undefined) return "next";
    return after(authenticator.cookie(context.exchange), (result) => {
      setCaller(context, result);
      return "next";
    });
  };
}

/** Step: after the cookie, so that browsers pay nothing for it. An MCP client route acts for users with a session. */
export function authenticateOwnToken(deps: ProgramDeps): Step {
  return (context) => {
    if (context.principal !== undefined || context.prepared.isMcpClient) return "next";
    const shown = deps.programs?.ownBearer(context.exchange);
    return shown === undefined ? "next" : after(shown, (result) => takeProgram(deps, context, result));
  };
}

/** Step: an unknown caller continues only if the route allows anonymous requests. */
export function requireSignIn(deps: SignInDeps & DecideDeps): Step {
  return (context) => {
    const { principal, authFailure = "missing" } = context;
    if (principal !== undefined) return "next";
    if (authFailure === "unavailable") return refuseUnavailable(deps, context);
    if (context.prepared.route.allowsAnonymous) return "next";
    return refuseAnonymous(deps, context, `credential-${authFailure}`, () => askToSignIn(deps, context));
  };
}

/** Step: the policy decision, for users. The response to a denial says what may help. */
export function decideWeb(deps: SignInDeps & DecideDeps & DeviceDeps & LimitDeps): Step {
  const denied: Answers["denied"] = (context, decision) => {
    if (isBlocked(decision)) return answerBlocked(context);
    if (isAmbiguous(decision)) return answerAmbiguous(context);
    // Signing in can change a denial only for a caller who has not; so can a device.
    if (!context.principal) return askToSignIn(deps, context);
    const reason = deviceReason(decision);
    if (reason !== undefined) return answerDevice(deps, context, context.principal, reason);
    const providers = otherProviders(context.snapshot.settings, [context.prepared.route.policy], context.principal);
    if (providers !== undefined)
      return deps.signIn.redirect(context.exchange, context.snapshot, { providers, isSignedIn: true });
    answerDenied(context);
  };
  return decide(deps, { denied, limited: answerLimited });
}

export interface SignInDeps {
  readonly signIn: SignIn;
}

/**
 * A caller with a token is a program: an invalid token is rejected, also on public routes, and never leads to a sign-in page.
 */
function takeProgram(
  deps: DecideDeps,
  context: RequestContext,
  result: AuthResult,
): StepOutcome | Promise<StepOutcome> {
  setCaller(context, result);
  if (result.ok) return "next";
  if (result.reason === "unavailable") return refuseUnavailable(deps, context);
  return refuse(deps, context, `credential-${result.reason}`, () =>
    // RFC 6750 §3.1
    respondError(
      context.exchange,
      401,
      { code: "token.refused", message: "Unauthorized: the token is not valid here" },
      ["www-authenticate", 'Bearer error="invalid_token"'],
    ),
  );
}

function askToSignIn({ signIn }: SignInDeps, { exchange, snapshot, prepared }: RequestContext): Promise<void> {
  const providers = helpfulProviders(snapshot.settings, [prepared.route.policy]);
  return signIn.redirect(exchange, snapshot, { providers });
}

/** Not 403: the spelling of the path is rejected, for all callers. */
function answerAmbiguous({ exchange }: RequestContext): void {
  respondError(exchange, 400, {
    code: "access.ambiguous-path",
    message: "The path of this request has several readings, and the policy of this address decides them differently",
  });
}

function answerDenied({ exchange, prepared, facts, principal }: RequestContext): void {
  const { showErrorDetails, policy } = prepared.route;
  const user = principal && visibleText(nameOf(principal.user));
  respondError(exchange, 403, {
    code: "access.denied",
    // The host is what the user opened; the name of a route may be for administrators only.
    title: `You don’t have access to ${exchange.host}`,
    message:
      "The policy of this address does not let this account in. If you had access before, your groups may have changed.",
    ...(user === undefined ? {} : { user }),
    ...(showErrorDetails && facts ? { details: denialDetails(policy, facts) } : {}),
    links: [
      { href: "/.gateway/sign_out", text: "Use another account" },
      { href: "/.gateway/", text: "See what you can use", isQuiet: true },
    ],
  });
}
