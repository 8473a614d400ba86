/** The way of a request on an ordinary route or an MCP client route: people with a browser session, programs with a token. */
import { respondError } from "../http/respond.ts";
import { isBlocked } from "../policy/blocks.ts";
import { isAmbiguous } from "../policy/evaluate.ts";
import { denialDetails } from "../policy/explain.ts";
import type { Decision } from "../policy/facts.ts";
import type { AuthResult } from "../identity/principal.ts";
import { answerBlocked } from "./blocked.ts";
import { decide, recordRefusal } from "./decide.ts";
import { answerDevice, deviceReason, withNewestDevices } from "./device.ts";
import type { Passage } from "./request-context.ts";
import { answerUnavailable, forwardAllowed, proceed, type StepDeps } from "./steps.ts";

export function serveWebRoute(deps: StepDeps, passage: Passage): void {
  const { exchange, plan } = passage;
  if (plan.route.bearerTokenFormat !== "default") {
    const shown = deps.programs?.providerBearer(exchange, plan.route);
    if (shown !== undefined) return proceed(deps, passage, shown, (result) => asProgram(deps, passage, result));
  }
  proceed(deps, passage, deps.authenticator.cookie(exchange), (result) => {
    // After the cookie, so that browsers pay nothing for it. An MCP client route acts for people with a session.
    const shown = result.ok || plan.isMcpClient ? undefined : deps.programs?.ownBearer(exchange);
    if (shown === undefined) withNewestDevices(deps, passage, result, (newest) => authenticated(deps, passage, newest));
    else proceed(deps, passage, shown, (program) => asProgram(deps, passage, program));
  });
}

/** Whoever shows a token is a program: a bad one is refused, also where nobody needs any, and never sent to a sign-in page. */
function asProgram(deps: StepDeps, passage: Passage, result: AuthResult): void {
  if (result.ok || result.reason === "unavailable") return authenticated(deps, passage, result);
  proceed(deps, passage, recordRefusal(deps, passage, `credential-${result.reason}`), () =>
    // RFC 6750 §3.1
    respondError(
      passage.exchange,
      401,
      { code: "token.refused", message: "Unauthorized: the token is not good here" },
      ["www-authenticate", 'Bearer error="invalid_token"'],
    ),
  );
}

function authenticated(deps: StepDeps, passage: Passage, result: AuthResult): void {
  if (result.ok) passage.principal = result.principal;
  else if (result.reason === "unavailable") {
    proceed(deps, passage, recordRefusal(deps, passage, "credential-unavailable"), () => answerUnavailable(passage));
    return;
  } else if (!passage.plan.route.allowsAnonymous) {
    proceed(deps, passage, recordRefusal(deps, passage, `credential-${result.reason}`), () =>
      askToSignIn(deps, passage),
    );
    return;
  }
  const { decision, recorded } = decide(deps, passage);
  if (decision.allowed) forwardAllowed(deps, passage, recorded);
  else proceed(deps, passage, recorded, () => refuse(deps, passage, decision));
}

function refuse(deps: StepDeps, passage: Passage, decision: Decision): void {
  const { principal } = passage;
  if (isBlocked(decision)) return answerBlocked(passage);
  if (isAmbiguous(decision)) return answerAmbiguous(passage);
  // Signing in may turn a no into a yes only for somebody who has not; so may a device.
  if (!principal) return askToSignIn(deps, passage);
  const reason = deviceReason(decision);
  if (reason === undefined) answerDenied(passage);
  else answerDevice(deps, passage, principal, reason);
}

function askToSignIn(deps: StepDeps, passage: Passage): void {
  proceed(deps, passage, deps.signIn.redirect(passage.exchange, passage.snapshot), () => {});
}

/** Not 403: it is the spelling of the path that is refused, for everybody. */
function answerAmbiguous({ exchange }: Passage): void {
  respondError(exchange, 400, {
    code: "access.ambiguous-path",
    message: "The path of this request has two readings, and the policy of this address decides them differently",
  });
}

function answerDenied(passage: Passage): void {
  const { showErrorDetails, policy } = passage.plan.route;
  respondError(passage.exchange, 403, {
    code: "access.denied",
    message: "You are signed in, but the policy of this address does not let you in",
    ...(showErrorDetails && passage.facts ? { details: denialDetails(policy, passage.facts) } : {}),
    links: [{ href: "/.gateway/", text: "See who you are signed in as" }],
  });
}
