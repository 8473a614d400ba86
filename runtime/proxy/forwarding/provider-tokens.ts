/** The provider's tokens of a user, if the route's header settings use them. */
import type { Authenticator } from "../../identity/interfaces.ts";
import type { Step } from "../steps.ts";

/** Step: waits only if a template uses them. */
export function fetchProviderTokens({ authenticator }: { readonly authenticator: Authenticator }): Step {
  return (context) => {
    const { principal, prepared } = context;
    if (!prepared.needsProviderTokens || !principal) return "next";
    return authenticator.providerTokens(principal).then((tokens) => {
      context.providerTokens = tokens;
      return "next";
    });
  };
}
