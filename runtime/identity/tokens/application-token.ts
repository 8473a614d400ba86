/** External Tokens for back ends of MCP client routes: issued with a request, valid for the user's MCP servers. */
import type { Snapshots } from "../../config/snapshot.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { applicationAudience, type ExternalTokens } from "../external-token.ts";
import type { Principal } from "../principal.ts";
import type { ApplicationTokens } from "../interfaces.ts";

/** Minimum remaining share of a token's lifetime: by default four of five minutes. */
const SHARE_LEFT = 0.8;

interface Minted {
  readonly token: string;
  readonly origin: string;
  readonly handOutUntil: number;
}

export interface ApplicationTokenDeps {
  readonly externalTokens: ExternalTokens;
  readonly snapshots: Snapshots;
  readonly clock: Clock;
}

/**
 * The token is invalid without its session or grant, which are looked up at every use. Its own expiry may be later than
 * theirs, so that a back end always gets its four minutes.
 */
export function createApplicationTokens(deps: ApplicationTokenDeps): ApplicationTokens {
  /** By route key: routes of one host may have different owners. */
  const minted = new WeakMap<Principal, Map<string, Minted>>();
  return {
    mint(principal, route) {
      const now = epochSeconds(deps.clock);
      let byRoute = minted.get(principal);
      if (!byRoute) {
        byRoute = new Map();
        minted.set(principal, byRoute);
      }
      const earlier = byRoute.get(route.key);
      if (earlier?.origin === route.origin && now <= earlier.handOutUntil) return earlier.token;
      const lifetime = deps.snapshots.current().settings.lifetimes.clientRouteToken;
      const token = deps.externalTokens.mint({
        kind: "application",
        userId: principal.user.id,
        ...(principal.sessionId === undefined ? {} : { sessionId: principal.sessionId }),
        ...(principal.grantId === undefined ? {} : { grantId: principal.grantId }),
        routeKey: route.key,
        audience: applicationAudience(route.origin),
        expiresAt: now + lifetime,
      });
      const { origin } = route;
      byRoute.set(route.key, { token, origin, handOutUntil: now + Math.floor(lifetime * (1 - SHARE_LEFT)) });
      return token;
    },
  };
}
