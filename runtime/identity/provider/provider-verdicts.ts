/**
 * Interprets a provider's responses about one user by comparing them with responses about others.
 *
 * Some providers respond about a removed user as if they were failing (Dex: 500). Others reject every user while they
 * fail (Keycloak: 403 for a disabled realm). The state is in this process's memory.
 */
import { errorCode } from "../../shared/errors.ts";
import type { Clock } from "../../shared/clock.ts";

/** This many rejected users, without a confirmed one in between, are an outage. */
const MANY = 3;
/** A rejection counts toward an outage only if another follows within this time. */
const WINDOW_MS = 600_000;
/**
 * `idp.denied` may be a fault of the provider: it counts if repeated after this time. Shorter than the pause between
 * refreshes.
 */
const SECOND_LOOK_MS = 20_000;
/** Upper limit for the repetition. Longer than the refresh interval of a user with few requests. */
const LAST_LOOK_MS = 3_600_000;
/** Users tracked per provider. */
const MAX_USERS = 10_000;

/**
 * "refused": the provider no longer confirms the user. "unconfirmed": it has given no usable response about the user
 * for too long, but confirmed others. "outage": it rejects many users. "unavailable": nothing is known.
 */
export type ProviderVerdict = "refused" | "unconfirmed" | "outage" | "unavailable";

export interface ProviderVerdicts {
  /** The provider confirmed the user, at a refresh or a sign-in. */
  confirmed(providerUrl: string, userId: string): void;
  /** @param limitMs value of the setting `unconfirmed_user_limit` */
  failed(providerUrl: string, userId: string, error: unknown, limitMs: number): ProviderVerdict;
}

interface Known {
  /** Time of its last confirmation of any user. */
  confirmedMs: number;
  /** User → time of the last rejection; cleared when the provider confirms any user. */
  readonly refused: Map<string, number>;
  /** User → time of the first and last rejection; cleared only when the provider confirms that user. */
  readonly denied: Map<string, { readonly sinceMs: number; readonly lastMs: number }>;
  /** User → start of the period without a usable response. */
  readonly unconfirmed: Map<string, number>;
}

/** Keeps at most `MAX_USERS`; the oldest entry is dropped. */
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

  /** Decides whether a rejection counts, or the provider has an outage. */
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
    // It confirmed others meanwhile, or it rejected this user recently and few others.
    const isAboutUser = confirmedMs > sinceMs || now - earlier.lastMs <= WINDOW_MS;
    for (const [each, lastMs] of users) {
      if (now - lastMs <= WINDOW_MS) break;
      users.delete(each);
    }
    // Ordered by last rejection.
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
