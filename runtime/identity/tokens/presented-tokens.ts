/**
 * Identity provider tokens that callers present, with the cached verification result of each.
 *
 * Untrusted input: the tokens. `program-credentials.ts` has the promises.
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

/** Cache time of a verification: a token revoked at the provider becomes invalid here after this. */
export const FRESH_MS = 60_000;
/** A rejected token is not verified again within this time. */
const REFUSED_MS = 10_000;
const CACHE_ENTRIES = 10_000;
/**
 * Concurrent verifications of unknown tokens, in total and per peer. Tokens beyond the limit are rejected immediately.
 * Known tokens have their own limit of the same size, so unknown callers cannot exhaust it.
 */
const MAX_QUESTIONS = 64;
const MAX_QUESTIONS_OF_PEER = 16;
/** Repetitions for a user whose access is revoked again and again. */
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
  /** Start of the verification. */
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
  /** Keys revoked during each verification in progress. */
  readonly #revokedMeanwhile = new Set<Set<string>>();
  #made = 0;
  readonly close: () => void;

  constructor(deps: PresentedTokenDeps) {
    this.#deps = deps;
    this.#steady = steadyClock(deps.clock);
    this.close = deps.revocations.subscribe((key) => {
      if (!/^(user|oid):/.test(key)) return;
      for (const ended of this.#revokedMeanwhile) ended.add(key);
      const principals: Principal[] = [];
      this.#known.deleteWhere(({ result }) => {
        const hasKey = result.ok && result.principal.revocationKeys.includes(key);
        if (hasKey) principals.push(result.principal);
        return hasKey;
      });
      // A response of theirs may be about to start.
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

  /** @param peer address of the caller; undefined to verify a principal's token again without a caller */
  verify(token: string, route: CompiledRoute, peer: string | undefined): AuthResult | Promise<AuthResult> {
    const { bearerTokenFormat: format, accessTokenAudiences: audiences } = route;
    // Hashed for short keys. The verdict also depends on format and audiences.
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
        // Never accept a cached result: unlike a session, such a token has no record to revoke.
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

  /** If the user's access was revoked during the verification, it is repeated. */
  async #verify(
    key: string,
    earlier: AuthResult | undefined,
    question: () => Promise<IdpTokenResult>,
  ): Promise<AuthResult> {
    const ended = new Set<string>();
    this.#revokedMeanwhile.add(ended);
    try {
      for (let attempt = 0; attempt < MAX_QUESTIONS_AGAIN; attempt += 1) {
        ended.clear();
        const result = this.#resultOf(await question(), key, attempt === 0 ? earlier : undefined);
        if (!result.ok || !result.principal.revocationKeys.some((each) => ended.has(each))) return result;
      }
      return refusal("revoked");
    } finally {
      this.#revokedMeanwhile.delete(ended);
    }
  }

  #resultOf(idpResult: IdpTokenResult, key: string, earlier: AuthResult | undefined): AuthResult {
    if (!idpResult.ok) return refusal(idpResult.reason);
    const { userId, profile, expiresAt } = idpResult;
    const user = { id: userId, ...profile, version: 1 };
    // The same object while nothing changes: assertions are cached by it.
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
        // The principal's own key changes each time, since the same token may become valid again.
        revocationKeys: [
          `provider-token:${key}:${(this.#made += 1)}`,
          userTag(userId),
          ...objectIdTags(issuerOf(userId), profile.claims),
        ],
      },
    };
  }
}

/** Limit key of known tokens. No peer address has this value. */
const KNOWN = "known";

/** Counts verifications in progress per peer, and for all unknown tokens together. */
function createQuestions(): { begin(asker: string): boolean; end(asker: string): void } {
  const counts = new Map<string, number>();
  let ofUnknown = 0;
  return {
    begin(asker) {
      const count = counts.get(asker) ?? 0;
      const isKnown = asker === KNOWN;
      if (count >= (isKnown ? MAX_QUESTIONS : MAX_QUESTIONS_OF_PEER)) return false;
      if (!isKnown && ofUnknown >= MAX_QUESTIONS) return false;
      if (!isKnown) ofUnknown += 1;
      counts.set(asker, count + 1);
      return true;
    },
    end(asker) {
      if (asker !== KNOWN) ofUnknown -= 1;
      const count = (counts.get(asker) ?? 0) - 1;
      if (count > 0) counts.set(asker, count);
      else counts.delete(asker);
    },
  };
}
