/** The provider's tokens of a user, where the route's header settings ask for them. */
import type { Authenticator } from "../../identity/interfaces.ts";
import type { Step } from "../steps.ts";

/** Step: waits only where a template names them. */
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
