/**
 * Handles an upstream's 401, or 403 for missing scope: one refresh, then the user is asked to connect.
 *
 * Promises: a request is sent at most twice. A rejected token is not tried again. Repeated demands for more scope are
 * limited.
 */
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { TokenAttacher } from "./attach-token.ts";
import { readChallenge } from "./discovery/bearer-challenge.ts";
import type { Needs } from "./need.ts";
import { scopeSet } from "./scopes.ts";
import { canConnect, findTarget, type UpstreamTarget } from "./target.ts";
import type { DirectTokens } from "./direct/direct-tokens.ts";
import type { Held, Refused } from "./tokens/token-records.ts";
import type { UpstreamTokenStore } from "./tokens/token-store.ts";

/** Response of an upstream that may concern authorization. */
export interface RefusedAnswer {
  readonly status: number;
  readonly wwwAuthenticate: string | readonly string[] | undefined;
  /** The Internal Token of the request. */
  readonly accessToken: string | undefined;
  /** The route's settings sent their own Authorization header. */
  readonly hasOwnAuthorization: boolean;
}

export type RefusalOutcome =
  | { readonly kind: "retry"; readonly accessToken: string; readonly authorization: string }
  /** The user has to connect, or connect again. */
  | { readonly kind: "connect" }
  /** Connecting again would not help. */
  | { readonly kind: "forbidden" }
  /** The upstream has no sign-in for users. Only its operator can fix the 401. */
  | { readonly kind: "unresolvable" }
  | { readonly kind: "unavailable" }
  | { readonly kind: Refused };

export interface RefusalHandler {
  /** Returns true if this response must be handled here. All others pass to the client unchanged. */
  concerns(route: CompiledRoute, settings: LiveSettings, answer: RefusedAnswer): boolean;
  /** @param attempt 1 for the first attempt */
  handle(userId: string, route: CompiledRoute, answer: RefusedAnswer, attempt: number): Promise<RefusalOutcome>;
  /** Call after the upstream accepted a request without a token. */
  passed(route: CompiledRoute): void;
}

export interface RefusalDeps {
  readonly tokenStore: UpstreamTokenStore;
  readonly directTokens: DirectTokens;
  readonly needs: Needs;
  readonly attacher: TokenAttacher;
  readonly log: Log;
}

export function createRefusalHandler(deps: RefusalDeps): RefusalHandler {
  const { tokenStore, directTokens, needs, attacher, log } = deps;

  const connect = async (
    userId: string,
    target: UpstreamTarget,
    scope: string | undefined,
  ): Promise<RefusalOutcome> => {
    await needs.send(userId, target, scope);
    return CONNECT;
  };

  /** Handles a token without user connection: one fresh token. Its scope is configured, so requesting more is useless. */
  const decideDirect = async (
    userId: string,
    target: UpstreamTarget,
    { status, accessToken }: RefusedAnswer,
    attempt: number,
  ): Promise<RefusalOutcome> => {
    if (status === 403) return FORBIDDEN;
    if (accessToken === undefined) return UNAVAILABLE;
    if (attempt === 1) return outcomeOf(await directTokens.replace(userId, target, accessToken, true), accessToken);
    await directTokens.giveUp(userId, target, accessToken);
    return { kind: "misconfigured" };
  };

  const decide: RefusalHandler["handle"] = async (userId, route, answer, attempt) => {
    const target = findTarget(route);
    if (!target) return FORBIDDEN;
    const reading = readChallenge(answer.wwwAuthenticate);
    const challenge = reading.kind === "bearer" ? reading.challenge : {};
    const { accessToken } = answer;
    attacher.forget(userId, target);
    if (target.direct) return decideDirect(userId, target, answer, attempt);

    if (answer.status === 403) {
      const stepUp = await tokenStore.requireScopes(userId, target, scopeSet(challenge.scope));
      log.info({ route: route.key, user: userId, outcome: stepUp }, "upstream requires more scopes");
      return stepUp === "connect" ? connect(userId, target, challenge.scope) : FORBIDDEN;
    }

    if (accessToken !== undefined && attempt > 1) {
      // A fresh token was rejected: only the user can help.
      await tokenStore.end(userId, target, "refused", accessToken);
      return connect(userId, target, challenge.scope);
    }
    const held =
      accessToken === undefined
        ? await tokenStore.hold(userId, target)
        : await tokenStore.replace(userId, target, accessToken, true);
    const outcome = outcomeOf(held, accessToken);
    if (outcome !== CONNECT) return outcome;
    // A user who had a token proves that a sign-in helps. A 401 without a token may be a mistake of the server.
    if (accessToken === undefined && target.mode === "discovery") {
      const confirmation = await needs.confirm(target, reading);
      if (confirmation !== "confirmed") return confirmation === "refuted" ? UNRESOLVABLE : UNAVAILABLE;
    }
    return connect(userId, target, challenge.scope);
  };

  return {
    concerns(route, settings, answer) {
      if (answer.status !== 401 && answer.status !== 403) return false;
      const target = findTarget(route);
      if (!target || !canConnect(target, settings)) return false;
      const reading = readChallenge(answer.wwwAuthenticate);
      if (answer.status === 403) {
        const isForScope = reading.kind === "bearer" && reading.challenge.error === "insufficient_scope";
        return answer.accessToken !== undefined && isForScope;
      }
      if (answer.accessToken !== undefined) return true;
      // A rejected configured credential, or another scheme, concerns only operator and upstream.
      return !answer.hasOwnAuthorization && reading.kind !== "other";
    },
    async handle(userId, route, answer, attempt) {
      try {
        return await decide(userId, route, answer, attempt);
      } catch (error) {
        log.warn({ route: route.key, reason: errorText(error) }, "cannot handle upstream rejection");
        return UNAVAILABLE;
      }
    },
    passed: (route) => needs.passed(route),
  };
}

/** @param refused token that the upstream rejected */
function outcomeOf(held: Held, refused: string | undefined): RefusalOutcome {
  switch (held.kind) {
    case "none":
      return CONNECT;
    case "unavailable":
      return UNAVAILABLE;
    case "refused":
      return { kind: held.why };
    case "token":
      if (held.accessToken === refused) return UNAVAILABLE;
      return { kind: "retry", accessToken: held.accessToken, authorization: `Bearer ${held.accessToken}` };
    default:
      return held satisfies never;
  }
}

const CONNECT: RefusalOutcome = { kind: "connect" };
const UNRESOLVABLE: RefusalOutcome = { kind: "unresolvable" };
const FORBIDDEN: RefusalOutcome = { kind: "forbidden" };
const UNAVAILABLE: RefusalOutcome = { kind: "unavailable" };
