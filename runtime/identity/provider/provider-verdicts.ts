/**
 * What a provider's answer about one user means, compared with its answers about others. Some providers answer for a removed
 * user as if they were out of order (Dex: 500). Others refuse every user while they are (Keycloak: 403 for a disabled realm).
 * In the memory of this process.
 */
import { errorCode } from "../../shared/errors.ts";
import type { Clock } from "../../shared/clock.ts";

/** So many users refused, and none confirmed in between, are an outage. */
const MANY = 3;
/** A refusal without another for so long no longer counts toward an outage. */
const WINDOW_MS = 600_000;
/** `idp.denied` may be about the provider: it counts when it is repeated after so long. Shorter than the pause between refreshes. */
const SECOND_LOOK_MS = 20_000;
/** And no later than this. Longer than the pause between refreshes of a user who makes few requests. */
const LAST_LOOK_MS = 3_600_000;
/** Users remembered for each provider. */
const MAX_USERS = 10_000;

/**
 * "refused": the provider no longer confirms the user. "unconfirmed": it has given no usable answer about the user for too
 * long, and confirmed others. "outage": it refuses many users. "unavailable": nothing is known.
 */
export type ProviderVerdict = "refused" | "unconfirmed" | "outage" | "unavailable";

export interface ProviderVerdicts {
  /** The provider confirmed the user, at a refresh or a sign-in. */
  confirmed(providerUrl: string, userId: string): void;
  /** @param limitMs of the setting `unconfirmed_user_limit` */
  failed(providerUrl: string, userId: string, error: unknown, limitMs: number): ProviderVerdict;
}

interface Known {
  /** When it last confirmed a user. */
  confirmedMs: number;
  /** User → when it last refused them; all are forgotten when it confirms a user. */
  readonly refused: Map<string, number>;
  /** User → when it first and last refused them; until it confirms that user, whichever others it confirms. */
  readonly denied: Map<string, { readonly sinceMs: number; readonly lastMs: number }>;
  /** User → since when it gives no usable answer. */
  readonly unconfirmed: Map<string, number>;
}

/** At most `MAX_USERS`: the one that is known longest makes room. */
function remember<T>(users: Map<string, T>, userId: string, what: T): void {
  users.set(userId, what);
  const [oldest = ""] = users.keys();
  if (users.size > MAX_USERS) users.delete(oldest);
}

export function createProviderVerdicts(clock: Clock): ProviderVerdicts {
  const providers = new Map<string, Known>();
  const knownOf = (url: string): Known => {
    const known = providers.get(url) ?? {
      confirmedMs: -Infinity,
      refused: new Map(),
      denied: new Map(),
      unconfirmed: new Map(),
    };
    providers.set(url, known);
    return known;
  };

  /** Whether a refusal counts, or the provider is out of order. */
  const refused = (
    { refused: users, denied, confirmedMs }: Known,
    userId: string,
    isCertain: boolean,
  ): ProviderVerdict => {
    const now = clock.now();
    const known = denied.get(userId);
    const earlier = known && now - known.sinceMs <= LAST_LOOK_MS ? known : { sinceMs: now, lastMs: now };
    const { sinceMs } = earlier;
    remember(denied, userId, { sinceMs, lastMs: now });
    // It answers others meanwhile; or it refused this one a moment ago, and then not many.
    const isAboutUser = confirmedMs > sinceMs || now - earlier.lastMs <= WINDOW_MS;
    for (const [each, lastMs] of users) {
      if (now - lastMs <= WINDOW_MS) break;
      users.delete(each);
    }
    // In the order of their last refusals.
    users.delete(userId);
    if (users.size < MAX_USERS) users.set(userId, now);
    if (users.size >= MANY) return "outage";
    return isCertain || (isAboutUser && now - sinceMs >= SECOND_LOOK_MS) ? "refused" : "unavailable";
  };

  return {
    confirmed(url, userId) {
      const known = knownOf(url);
      known.confirmedMs = clock.now();
      known.refused.clear();
      known.denied.delete(userId);
      known.unconfirmed.delete(userId);
    },
    failed(url, userId, error, limitMs) {
      const code = errorCode(error);
      const isRefusal = code === "idp.refused" || code === "idp.denied";
      if (!isRefusal && code !== "idp.unavailable") return "unavailable";
      const known = knownOf(url);
      const verdict = isRefusal ? refused(known, userId, code === "idp.refused") : "unavailable";
      if (verdict === "refused") return verdict;
      const sinceMs = known.unconfirmed.get(userId) ?? clock.now();
      remember(known.unconfirmed, userId, sinceMs);
      return clock.now() - sinceMs >= limitMs && known.confirmedMs > sinceMs ? "unconfirmed" : verdict;
    },
  };
}
