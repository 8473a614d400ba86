/** The way of a request on an ordinary route or an MCP client route: people with a browser session. */
import { respondError } from "../http/respond.ts";
import type { AuthResult } from "../session/principal.ts";
import { decide, recordRefusal } from "./decide.ts";
import type { Passage } from "./passage.ts";
import { answerUnavailable, forwardAllowed, proceed, type StepDeps } from "./steps.ts";

export function serveWebRoute(deps: StepDeps, passage: Passage): void {
  proceed(deps, passage, deps.authenticator.cookie(passage.exchange), (result) => authenticated(deps, passage, result));
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
  // Signing in may turn a no into a yes only for somebody who has not.
  else proceed(deps, passage, recorded, () => (passage.principal ? answerDenied(passage) : askToSignIn(deps, passage)));
}

function askToSignIn(deps: StepDeps, passage: Passage): void {
  proceed(deps, passage, deps.signIn.redirect(passage.exchange, passage.snapshot), () => {});
}

function answerDenied(passage: Passage): void {
  respondError(passage.exchange, 403, {
    code: "access.denied",
    message: "You are signed in, but the policy of this address does not let you in",
    links: [{ href: "/.gateway/", text: "See who you are signed in as" }],
  });
}
