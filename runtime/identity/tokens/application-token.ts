/** External Tokens for the back ends of MCP client routes: minted with a request, good for the user's MCP servers. */
import type { Snapshots } from "../../config/snapshot.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { applicationAudience, type ExternalTokens } from "../external-token.ts";
import type { Principal } from "../principal.ts";
import type { ApplicationTokens } from "../interfaces.ts";

/** A token handed out has at least this share of its life left: four of five minutes by default. */
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
 * The token outlives neither session nor grant: those are looked up whenever it is used. Its own end may lie past
 * theirs, so that a back end always gets its four minutes.
 */
export function createApplicationTokens(deps: ApplicationTokenDeps): ApplicationTokens {
  /** By key of the route: several of one host may belong to several owners. */
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
