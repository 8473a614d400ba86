/** Logout from outside: what identity providers tell us of people who left. */
import { endpointOverStore, type Endpoint } from "../../http/endpoint.ts";
import { createRateLimit } from "../../shared/rate-limit.ts";
import { respondAgain } from "./answers.ts";
import { BACK_CHANNEL_PATH, handleBackChannelLogout, type LogoutDeps } from "./back-channel.ts";
import { GLOBAL_REVOCATION_PATH, type GlobalRevocationDeps, handleGlobalRevocation } from "./global-revocation.ts";

/** Of what is not good, for each peer, as at the token endpoint. */
const FAILED_PROOFS = { burst: 60, perSecond: 2 };

type Deps = Omit<LogoutDeps & GlobalRevocationDeps, "failedProofs">;

/** Programs call these: no cookies are read, and no page of another origin may read the answers. */
export function logoutEndpoints(given: Deps): readonly Endpoint[] {
  const failedProofs = createRateLimit(given, FAILED_PROOFS.burst, FAILED_PROOFS.perSecond);
  const deps = { ...given, failedProofs };
  const endpoints: readonly Endpoint[] = [
    {
      methods: ["POST"],
      path: BACK_CHANNEL_PATH,
      handle: (exchange, snapshot) => handleBackChannelLogout(deps, exchange, snapshot),
    },
    {
      methods: ["POST"],
      path: GLOBAL_REVOCATION_PATH,
      handle: (exchange, snapshot) => handleGlobalRevocation(deps, exchange, snapshot),
    },
  ];
  // While the store is away nothing is said to have ended.
  return endpoints.map((each) => endpointOverStore(each, given.log, respondAgain));
}
