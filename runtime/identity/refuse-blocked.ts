/**
 * Denies blocked users access to our own pages and lists. Requests to routes are denied by their decision
 * (`proxy/decide.ts`).
 */
import type { Exchange } from "../http/exchange.ts";
import { respondError } from "../http/respond.ts";
import { BLOCKED } from "../policy/blocks.ts";
import type { Blocks } from "./blocks.ts";
import { refusal } from "./confirm-credential.ts";
import type { AuthResult, Principal } from "./principal.ts";
import type { Authenticator, SignIn } from "./interfaces.ts";

/** Treats blocked callers as not signed in. Their credentials stay, but grant nothing during the block. */
export function refuseBlockedCallers(authenticator: Authenticator, blocks: Blocks): Authenticator {
  const admit = (result: AuthResult): AuthResult =>
    result.ok && blocks.find(result.principal) !== undefined ? refusal(BLOCKED) : result;
  const admitLater = (result: AuthResult | Promise<AuthResult>): AuthResult | Promise<AuthResult> =>
    result instanceof Promise ? result.then(admit) : admit(result);
  return {
    bearer: (token, audience, opened) => admitLater(authenticator.bearer(token, audience, opened)),
    cookie: (exchange) => admitLater(authenticator.cookie(exchange)),
    cookieAgain: async (exchange) => admit(await authenticator.cookieAgain(exchange)),
    providerTokens: (principal: Principal) => authenticator.providerTokens(principal),
  };
}

/** Does not send blocked users to sign-in: it would not help, and would delete their cookie. */
export function refuseBlockedSignIn(
  signIn: SignIn,
  authenticator: Pick<Authenticator, "cookie">,
  blocks: Blocks,
): SignIn {
  return {
    async redirect(exchange, snapshot, at) {
      if (blocks.size > 0) {
        const found = await authenticator.cookie(exchange);
        if (!found.ok && found.reason === BLOCKED) return respondBlocked(exchange);
      }
      return signIn.redirect(exchange, snapshot, at);
    },
  };
}

/** Says that access is blocked, but not by which block. An administrator finds that by the request id. */
export function respondBlocked(exchange: Exchange, headers: readonly string[] = []): void {
  respondError(exchange, 403, { code: BLOCKED, message: "Access is blocked at the moment" }, headers);
}
