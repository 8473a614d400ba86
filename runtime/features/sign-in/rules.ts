/** Rules of the settings of sign-in. */
import type { SignInDoc } from "./settings.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";

/** Without this scope the provider answers as an OAuth server and says nothing of the user. @see OpenID Connect Core §3.1.2.1 */
export function* openidScope({ idp_scopes: scopes }: Partial<SignInDoc>): Iterable<UnplacedProblem> {
  if (scopes && !scopes.includes("openid"))
    yield errorAt(["idp_scopes"], 'lacks "openid", without which nobody can sign in');
}
