/**
 * Tokens of the identity provider that callers present, with the provider's last answer about each.
 *
 * Untrusted input: the tokens. The promises are in `program-credentials.ts`.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { epochSeconds, steadyClock, type Clock } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { networkOf } from "../../shared/rate-limit.ts";
import { issuerOf } from "../claims-record.ts";
import { refusal } from "../confirm-credential.ts";
import { objectIdTags, userTag } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";
import type { AuthResult, Principal } from "../principal.ts";
import type { IdpTokenResult, IdpTokens } from "../provider/idp-tokens.ts";

/** So long the provider's word about a token holds: a token it takes back is worth nothing here after this. */
export const FRESH_MS = 60_000;
/** So long a refused token is not asked about again. */
const REFUSED_MS = 10_000;
const CACHE_ENTRIES = 10_000;
/**
 * Questions to the provider under way about tokens that nobody vouched for yet, of all peers and of one; more tokens than
 * this wait for nobody. Those that were good before have as many of their own: strangers cannot take their turns.
 */
const MAX_QUESTIONS = 64;
const MAX_QUESTIONS_OF_PEER = 16;
/** About somebody whose access keeps ending. */
const MAX_QUESTIONS_AGAIN = 3;

export interface PresentedTokenDeps {
  readonly idpTokens: IdpTokens;
  readonly snapshots: Snapshots;
  readonly revocations: Pick<Revocations, "subscribe" | "endHere" | "epoch" | "hasChanged">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry extends Visited {
  readonly result: AuthResult;
  readonly askAgainAtMs: number;
  /** When the question began. */
  readonly epoch: number;
}

interface Presented {
  readonly token: string;
  readonly route: CompiledRoute;
}

export class PresentedTokens {
  readonly #deps: PresentedTokenDeps;
  readonly #steady: Clock;
  readonly #known = new BoundedCache<Entry>(CACHE_ENTRIES);
  readonly #pending = new Map<string, Promise<AuthResult>>();
  readonly #questions = createQuestions();
  readonly #presented = new WeakMap<Principal, Presented>();
  /** What ended while questions are under way, for each of them. */
  readonly #underWay = new Set<Set<string>>();
  #made = 0;
  readonly close: () => void;

  constructor(deps: PresentedTokenDeps) {
    this.#deps = deps;
    this.#steady = steadyClock(deps.clock);
    this.close = deps.revocations.subscribe((key) => {
      if (!/^(user|oid):/.test(key)) return;
      for (const ended of this.#underWay) ended.add(key);
      const principals: Principal[] = [];
      this.#known.deleteWhere(({ result }) => {
        const isMeant = result.ok && result.principal.revocationKeys.includes(key);
        if (isMeant) principals.push(result.principal);
        return isMeant;
      });
      // An answer of theirs may be about to begin.
      for (const {
        revocationKeys: [own = ""],
      } of principals)
        deps.revocations.endHere(own);
    });
  }

  /** The token that this principal presented. */
  of(principal: Principal): Presented | undefined {
    return this.#presented.get(principal);
  }

  /** @param peer who presents it; undefined when nobody does, and its principal is asked about again */
  verify(token: string, route: CompiledRoute, peer: string | undefined): AuthResult | Promise<AuthResult> {
    const { bearerTokenFormat: format, accessTokenAudiences: audiences } = route;
    // Hashed, so that keys are short; format and audiences are part of the verdict.
    const key = hashSecret(`${format} ${audiences.join(" ")} ${token}`);
    const entry = this.#known.get(key);
    if (entry && this.#steady.now() < entry.askAgainAtMs) {
      const { result } = entry;
      if (!result.ok) return result;
      const isChanged = this.#deps.revocations.hasChanged(result.principal.revocationKeys, entry.epoch);
      if (isChanged) return this.#pending.get(key) ?? this.#ask(key, token, route, result, peer);
      if (result.principal.expiresAt <= epochSeconds(this.#deps.clock)) return refusal("expired");
      return result;
    }
    return this.#pending.get(key) ?? this.#ask(key, token, route, entry?.result, peer);
  }

  #ask(
    key: string,
    token: string,
    route: CompiledRoute,
    earlier: AuthResult | undefined,
    peer: string | undefined,
  ): AuthResult | Promise<AuthResult> {
    const { idp } = this.#deps.snapshots.current().settings;
    const { bearerTokenFormat: format, accessTokenAudiences: audiences } = route;
    if (idp === undefined || format === "default" || format === "jwt") return refusal("unavailable");
    const asker = earlier?.ok === true ? KNOWN : networkOf(peer ?? "");
    if (!this.#questions.begin(asker)) return refusal("unavailable");
    const { epoch } = this.#deps.revocations;
    const asking = this.#verify(key, earlier, () => this.#deps.idpTokens.verify(idp, token, format, audiences)).then(
      (result) => {
        if (result.ok) this.#presented.set(result.principal, { token, route });
        const holdsMs = result.ok ? FRESH_MS : REFUSED_MS;
        this.#known.set(key, { result, askAgainAtMs: this.#steady.now() + holdsMs, epoch, visited: false });
        return result;
      },
      (error: unknown) => {
        // Nobody is let in on an old word: unlike a session, such a token has no record of ours behind it.
        this.#known.delete(key);
        this.#deps.log.warn({ reason: errorText(error) }, "cannot verify identity provider token");
        return refusal("unavailable");
      },
    );
    const settled = asking.finally(() => {
      this.#pending.delete(key);
      this.#questions.end(asker);
    });
    this.#pending.set(key, settled);
    return settled;
  }

  /** Who may have been asked about before their access ended is asked about again. */
  async #verify(
    key: string,
    earlier: AuthResult | undefined,
    question: () => Promise<IdpTokenResult>,
  ): Promise<AuthResult> {
    const ended = new Set<string>();
    this.#underWay.add(ended);
    try {
      for (let attempt = 0; attempt < MAX_QUESTIONS_AGAIN; attempt += 1) {
        ended.clear();
        const result = this.#resultOf(await question(), key, attempt === 0 ? earlier : undefined);
        if (!result.ok || !result.principal.revocationKeys.some((each) => ended.has(each))) return result;
      }
      return refusal("revoked");
    } finally {
      this.#underWay.delete(ended);
    }
  }

  #resultOf(idpResult: IdpTokenResult, key: string, earlier: AuthResult | undefined): AuthResult {
    if (!idpResult.ok) return refusal(idpResult.reason);
    const { userId, profile, expiresAt } = idpResult;
    const user = { id: userId, ...profile, version: 1 };
    // The same object while nothing changed, since assertions are remembered by it.
    if (earlier?.ok && earlier.principal.expiresAt === expiresAt) {
      const { version, ...before } = earlier.principal.user;
      const { version: _, ...now } = user;
      if (JSON.stringify(before) === JSON.stringify(now)) return earlier;
      user.version = version + 1;
    }
    return {
      ok: true,
      principal: {
        kind: "provider-token",
        user,
        sid: key.slice(0, 22),
        expiresAt,
        // Its own is another one each time: the same token may be good again.
        revocationKeys: [
          `provider-token:${key}:${(this.#made += 1)}`,
          userTag(userId),
          ...objectIdTags(issuerOf(userId), profile.claims),
        ],
      },
    };
  }
}

/** Who asks about tokens that were good before; no address is called so. */
const KNOWN = "known";

/** Counts what is under way, for each who asks and for all strangers together. */
function createQuestions(): { begin(asker: string): boolean; end(asker: string): void } {
  const counts = new Map<string, number>();
  let ofStrangers = 0;
  return {
    begin(asker) {
      const count = counts.get(asker) ?? 0;
      const isKnown = asker === KNOWN;
      if (count >= (isKnown ? MAX_QUESTIONS : MAX_QUESTIONS_OF_PEER)) return false;
      if (!isKnown && ofStrangers >= MAX_QUESTIONS) return false;
      if (!isKnown) ofStrangers += 1;
      counts.set(asker, count + 1);
      return true;
    },
    end(asker) {
      if (asker !== KNOWN) ofStrangers -= 1;
      const count = (counts.get(asker) ?? 0) - 1;
      if (count > 0) counts.set(asker, count);
      else counts.delete(asker);
    },
  };
}
