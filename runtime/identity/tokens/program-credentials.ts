/**
 * Credentials of programs on ordinary routes: the gateway's own tokens (service accounts, programmatic login) everywhere,
 * and tokens of the identity provider, or of a platform about its workloads, where `bearer_token_format` says so.
 *
 * Untrusted input: the headers. Promises: an External Token of an MCP client or of an application opens no ordinary
 * route; a program's token opens only the host it was made for; what the provider said of a token is believed for
 * `FRESH_MS` and never past the token's end; a revoked user is asked about again at once, also when the question was under
 * way. The provider is asked about one token once at a time, and about few tokens at once.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { errorText } from "../../shared/errors.ts";
import type { Exchange } from "../../http/exchange.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, steadyClock, type Clock } from "../../shared/clock.ts";
import { networkOf } from "../../shared/rate-limit.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { issuerOf } from "../claims-record.ts";
import { refusal } from "../confirm-credential.ts";
import { EXTERNAL_TOKEN_PREFIX } from "../external-token.ts";
import type { IdpTokenResult, IdpTokens } from "../provider/idp-tokens.ts";
import type { AuthResult, Principal } from "../principal.ts";
import { objectIdTags, userTag } from "../identity-records.ts";
import { findSite } from "../sites.ts";
import type { WorkloadCredentials } from "./workload-credentials.ts";
import type { Authenticator, ProgramCredentials, ProviderTokens, Revocations } from "../interfaces.ts";

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

export interface ProgramCredentialDeps {
  readonly authenticator: Pick<Authenticator, "bearer">;
  readonly idpTokens: IdpTokens;
  /** Absent: tokens of platforms open nothing. */
  readonly workloads?: WorkloadCredentials | undefined;
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

export interface ProviderTokenCredentials extends ProgramCredentials {
  /** The token that a principal presented, for `${gateway.access_token}`; undefined for other principals. */
  presentedBy(principal: Principal): ProviderTokens | undefined;
  /** Asks about the principal's token again when that is due. @returns undefined when it is worth nothing any more */
  again(principal: Principal): Promise<Principal | undefined>;
  close(): void;
}

export function createProgramCredentials(deps: ProgramCredentialDeps): ProviderTokenCredentials {
  const { clock, revocations } = deps;
  const steady = steadyClock(clock);
  const known = new BoundedCache<Entry>(CACHE_ENTRIES);
  const pending = new Map<string, Promise<AuthResult>>();
  const questions = createQuestions();
  const presented = new WeakMap<Principal, { readonly token: string; readonly route: CompiledRoute }>();
  const workloads = new WeakMap<
    Principal,
    { readonly token: string; readonly route: CompiledRoute; readonly origin: string }
  >();

  /** What ended while questions are under way, for each of them. */
  const underWay = new Set<Set<string>>();
  let made = 0;

  const unsubscribe = revocations.subscribe((key) => {
    if (!/^(user|oid):/.test(key)) return;
    for (const ended of underWay) ended.add(key);
    const principals: Principal[] = [];
    known.deleteWhere(({ result }) => {
      const isMeant = result.ok && result.principal.revocationKeys.includes(key);
      if (isMeant) principals.push(result.principal);
      return isMeant;
    });
    // An answer of theirs may be about to begin.
    for (const {
      revocationKeys: [own = ""],
    } of principals)
      revocations.endHere(own);
  });

  const ownToken = (token: string, { host }: Exchange): AuthResult | Promise<AuthResult> => {
    const site = findSite(deps.snapshots.current(), host);
    if (!site) return refusal("wrong-audience");
    const result = deps.authenticator.bearer(token, { resource: "", origin: site.origin, isWeb: true });
    return result instanceof Promise ? result.then(onlyPrograms) : onlyPrograms(result);
  };

  /** @param peer who presents it; undefined when nobody does, and its principal is asked about again */
  const providerToken = (
    token: string,
    route: CompiledRoute,
    peer: string | undefined,
  ): AuthResult | Promise<AuthResult> => {
    const { bearerTokenFormat: format, accessTokenAudiences: audiences } = route;
    // Hashed, so that keys are short; format and audiences are part of the verdict.
    const key = hashSecret(`${format} ${audiences.join(" ")} ${token}`);
    const entry = known.get(key);
    if (entry && steady.now() < entry.askAgainAtMs) {
      const { result } = entry;
      if (!result.ok) return result;
      const isChanged = revocations.hasChanged(result.principal.revocationKeys, entry.epoch);
      if (isChanged) return pending.get(key) ?? ask(key, token, route, result, peer);
      if (result.principal.expiresAt <= epochSeconds(clock)) return refusal("expired");
      return result;
    }
    return pending.get(key) ?? ask(key, token, route, entry?.result, peer);
  };

  const ask = (
    key: string,
    token: string,
    route: CompiledRoute,
    earlier: AuthResult | undefined,
    peer: string | undefined,
  ): AuthResult | Promise<AuthResult> => {
    const { idp } = deps.snapshots.current().settings;
    const { bearerTokenFormat: format, accessTokenAudiences: audiences } = route;
    if (idp === undefined || format === "default" || format === "jwt") return refusal("unavailable");
    const asker = earlier?.ok === true ? KNOWN : networkOf(peer ?? "");
    if (!questions.begin(asker)) return refusal("unavailable");
    const { epoch } = revocations;
    const asking = verify(key, earlier, () => deps.idpTokens.verify(idp, token, format, audiences)).then(
      (result) => {
        if (result.ok) presented.set(result.principal, { token, route });
        const holdsMs = result.ok ? FRESH_MS : REFUSED_MS;
        known.set(key, { result, askAgainAtMs: steady.now() + holdsMs, epoch, visited: false });
        return result;
      },
      (error: unknown) => {
        // Nobody is let in on an old word: unlike a session, such a token has no record of ours behind it.
        known.delete(key);
        deps.log.warn({ reason: errorText(error) }, "a token of the identity provider cannot be verified now");
        return refusal("unavailable");
      },
    );
    const settled = asking.finally(() => {
      pending.delete(key);
      questions.end(asker);
    });
    pending.set(key, settled);
    return settled;
  };

  /** Who may have been asked about before their access ended is asked about again. */
  const verify = async (
    key: string,
    earlier: AuthResult | undefined,
    question: () => Promise<IdpTokenResult>,
  ): Promise<AuthResult> => {
    const ended = new Set<string>();
    underWay.add(ended);
    try {
      for (let attempt = 0; attempt < MAX_QUESTIONS_AGAIN; attempt += 1) {
        ended.clear();
        const result = resultOf(await question(), key, attempt === 0 ? earlier : undefined);
        if (!result.ok || !result.principal.revocationKeys.some((each) => ended.has(each))) return result;
      }
      return refusal("revoked");
    } finally {
      underWay.delete(ended);
    }
  };

  const workloadToken = (token: string, { host }: Exchange, route: CompiledRoute): AuthResult | Promise<AuthResult> => {
    const site = findSite(deps.snapshots.current(), host);
    if (!site || !deps.workloads) return refusal("wrong-audience");
    const note = (result: AuthResult): AuthResult => {
      if (result.ok && !workloads.has(result.principal))
        workloads.set(result.principal, { token, route, origin: site.origin });
      return result;
    };
    const result = deps.workloads.principal(token, site.origin, route);
    return result instanceof Promise ? result.then(note) : note(result);
  };

  const resultOf = (idpResult: IdpTokenResult, key: string, earlier: AuthResult | undefined): AuthResult => {
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
          `provider-token:${key}:${(made += 1)}`,
          userTag(userId),
          ...objectIdTags(issuerOf(userId), profile.claims),
        ],
      },
    };
  };

  return {
    providerBearer(exchange, route) {
      const token = bearerOf(exchange.header("authorization"));
      if (token === undefined) return undefined;
      // Our own tokens are told by their prefix and pass beside the provider's.
      if (token.startsWith(EXTERNAL_TOKEN_PREFIX)) return ownToken(token, exchange);
      return route.bearerTokenFormat === "jwt"
        ? workloadToken(token, exchange, route)
        : providerToken(token, route, exchange.remoteAddress);
    },
    ownBearer(exchange) {
      const own = exchange.header("x-gateway-authorization");
      const authorization = own === undefined ? exchange.header("authorization") : undefined;
      // Most requests without a cookie carry neither.
      if (own === undefined && authorization === undefined) return undefined;
      const token = own ?? bearerOf(authorization);
      return token?.startsWith(EXTERNAL_TOKEN_PREFIX) === true ? ownToken(token, exchange) : undefined;
    },
    presentedBy(principal) {
      const shown = presented.get(principal);
      if (!shown) return undefined;
      const isAccess = shown.route.bearerTokenFormat === "idp_access_token";
      return { accessToken: isAccess ? shown.token : "", idToken: isAccess ? "" : shown.token };
    },
    async again(principal) {
      const shown = presented.get(principal);
      const workload = workloads.get(principal);
      if (!shown && !workload) return undefined;
      const result = shown
        ? await providerToken(shown.token, shown.route, undefined)
        : workload && (await deps.workloads?.principal(workload.token, workload.origin, workload.route));
      if (!result) return undefined;
      if (result.ok) return result.principal;
      // A provider that is away ends nothing; the token has its own end.
      return result.reason === "unavailable" ? principal : undefined;
    },
    close: unsubscribe,
  };
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

/** Other External Tokens were given out for MCP servers, some of them to language models. */
function onlyPrograms(result: AuthResult): AuthResult {
  if (!result.ok) return result;
  const { kind } = result.principal;
  return kind === "service-account" || kind === "programmatic" ? result : refusal("wrong-kind");
}

/** RFC 6750 §2.1: the scheme knows no case. */
function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization ?? "")?.[1];
}
