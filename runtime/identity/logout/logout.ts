/** Logout endpoints for identity providers. */
import { endpointOverStore, type Endpoint } from "../../http/endpoint.ts";
import type { SignOutResult } from "../../shared/clock.ts";
import { createRateLimit } from "../../shared/rate-limit.ts";
import { respondAgain } from "./answers.ts";
import { BACK_CHANNEL_PATH, handleBackChannelLogout, type LogoutDeps } from "./back-channel.ts";
import { GLOBAL_REVOCATION_PATH, type GlobalRevocationDeps, handleGlobalRevocation } from "./global-revocation.ts";
import { logoutIssuers } from "./statement.ts";

/** Rate of invalid statements per peer, as at the token endpoint. */
const FAILED_PROOFS = { burst: 60, perSecond: 2 };

type Deps = Omit<LogoutDeps & GlobalRevocationDeps, "failedProofs"> & {
  /** For metrics; must not throw. */
  readonly onSignOut?: ((signOut: SignOutResult) => void) | undefined;
};

/** For programs only: no cookies are read, and no page of another origin can read the responses. */
export function logoutEndpoints(parts: Deps): readonly Endpoint[] {
  const failedProofs = createRateLimit(parts, FAILED_PROOFS.burst, FAILED_PROOFS.perSecond);
  const deps = { ...parts, failedProofs };
  return [
    endpointOf("back-channel", BACK_CHANNEL_PATH, handleBackChannelLogout),
    endpointOf("global-revocation", GLOBAL_REVOCATION_PATH, handleGlobalRevocation),
  ];

  function endpointOf(kind: SignOutResult["kind"], path: string, handle: Handle): Endpoint {
    const methods = ["POST"];
    const carriesOut = { methods, path, handle: (...of: Parameters<Endpoint["handle"]>) => handle(deps, ...of) };
    // While the store is unavailable, no response claims success.
    const answers = endpointOverStore(carriesOut, parts.log, respondAgain);
    return {
      ...answers,
      async handle(exchange, snapshot) {
        await answers.handle(exchange, snapshot);
        // Without issuers that may end sessions, no sign-out is counted.
        if (logoutIssuers(snapshot.settings).length > 0) parts.onSignOut?.({ kind, result: resultOf(exchange.status) });
      },
    };
  }
}

type Handle = (deps: LogoutDeps & GlobalRevocationDeps, ...of: Parameters<Endpoint["handle"]>) => Promise<void>;

function resultOf(status: number): SignOutResult["result"] {
  if (status < 300) return "ok";
  return status === 503 || status === 429 ? "unavailable" : "refused";
}
