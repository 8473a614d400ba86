/**
 * `grant_type=refresh_token` (OAuth 2.1 §4.3): new tokens for a grant, as long as its user is valid.
 *
 * Promises: tokens of public clients rotate. Of parallel requests with one token, one does the work and all get the
 * same pair. A token reused later revokes the grant. If provider or store are unavailable, nothing is consumed.
 *
 * @see test/requirements.ts, "States and transitions"
 */
import type { Block } from "../../../policy/blocks.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import { epochSeconds } from "../../../shared/clock.ts";
import { ignore } from "../../../shared/ignore.ts";
import type { StoredRecord } from "../../../store/store.ts";
import { chooseAudience, mintAccessToken } from "./access-token.ts";
import { pass, refuse, refuseBlocked, type StepResult } from "../answer.ts";
import { routesOfAudience } from "../find-issuer.ts";
import { endGrant, endOf } from "./grants.ts";
import {
  findGrant,
  grantKey,
  keeping,
  REPLAY_WINDOW_SECONDS,
  type GrantRecord,
  type RotatedToken,
} from "../grant-records.ts";
import {
  classifyRefreshToken,
  isBoundTo,
  isCurrentToken,
  mintRefreshToken,
  openRefreshToken,
  prolongReplay,
  replayAnswer,
  rotateFamily,
  type OpenedRefreshToken,
  type RefreshTokenOwner,
  type TokenAnswer,
} from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

/** Milliseconds between attempts to get the lease. Total 20 s: after that, a retry by the client is better than hanging. */
const WAITS: readonly number[] = Array.from({ length: 200 }, () => 100);

interface Attempt {
  readonly token: string;
  readonly opened: OpenedRefreshToken;
  readonly owner: RefreshTokenOwner;
}

export async function refreshGrant(deps: TokenDeps, request: TokenRequest): Promise<StepResult<TokenAnswer>> {
  // The token must be issued here, to this client by this issuer.
  const token = request.form.get("refresh_token");
  if (token === undefined) return refuse("invalid_request", "refresh_token is missing");
  const owner = { issuer: request.issuer.origin, clientId: request.client.id };
  const opened = openRefreshToken(deps.keys, owner, token);
  if (!opened) return badToken("not ours, or of another client");

  // Parallel requests with one token share one refresh. The lease below does the same across processes.
  const key = `${opened.hash} ${request.form.get("resource") ?? ""} ${request.keyThumbprint ?? ""}`;
  try {
    return await deps.refreshes.once(key, () => refreshShared(deps, request, { token, opened, owner }));
  } finally {
    const took = epochSeconds(deps.clock) - request.now;
    if (took > REPLAY_WINDOW_SECONDS) await prolong(deps, opened, took).catch(ignore);
  }
}

/** Restarts the replay window after a stalled request: its client may have timed out, and will retry. */
async function prolong(deps: TokenDeps, opened: OpenedRefreshToken, took: number): Promise<void> {
  const grant = await findGrant(deps.store, opened.grantId);
  const now = await deps.store.now();
  const refresh = grant && prolongReplay(grant.value.refresh, opened, { since: now - took, now });
  if (refresh) await deps.store.put(grant.key, { ...grant.value, refresh } satisfies GrantRecord, keeping(grant));
}

async function refreshShared(
  deps: TokenDeps,
  request: TokenRequest,
  attempt: Attempt,
): Promise<StepResult<TokenAnswer>> {
  const look = (): Promise<StepResult<TokenAnswer> | undefined> => answerWithoutRefresh(deps, request, attempt);
  const answer =
    (await look()) ??
    (await deps.refreshes.underLease({
      lease: (ttlMs) => deps.store.lease(`refresh:${attempt.opened.grantId}`, ttlMs),
      waits: WAITS,
      look,
      work: () => refreshAlone(deps, request, attempt),
    }));
  return answer ?? refuse("temporarily_unavailable", "Another refresh is in progress", "lease not obtained");
}

/** @returns undefined for the current token of a valid grant: it must be refreshed */
async function answerWithoutRefresh(
  deps: TokenDeps,
  request: TokenRequest,
  attempt: Attempt,
): Promise<StepResult<TokenAnswer> | undefined> {
  const { grantId } = attempt.opened;
  const grant = await findGrant(deps.store, grantId);
  if (!grant || deps.session.revocations.isRevoked([`grant:${grantId}`])) return badToken("the grant ended");
  if (!isBoundTo(attempt.opened, grant.value)) return badToken("its grant is not the one that it was made for");
  // First, so that a thief without the key can neither end the grant nor learn its state.
  const { keyThumbprint = request.keyThumbprint } = grant.value;
  if (keyThumbprint !== request.keyThumbprint) return badProof();
  // Before anything that a rotation could extend.
  const { endsAt = Infinity } = endOf(grant.value.createdAt, request.snapshot.settings.lifetimes);
  if (endsAt <= request.now) {
    await endGrant(deps, grantId, "refresh_token_absolute_lifetime");
    return badToken("past refresh_token_absolute_lifetime");
  }
  const { refresh } = grant.value;
  // The store's clock: with a local clock off by half a minute, a token just rotated by another process would look stolen.
  const now = isCurrentToken(refresh, attempt.opened) ? request.now : await deps.store.now();
  const state = classifyRefreshToken(refresh, attempt.opened, now);
  if (state.kind === "unknown") return badToken("never issued");
  if (state.kind === "reused") {
    // Either party may be the thief, so both lose their tokens (OAuth 2.1 §4.3.1).
    await endGrant(deps, grantId, "refresh token reused");
    return badToken("reused");
  }
  // Before anything is issued or consumed: the same token must work after the block.
  const block = await findBlock(deps, grantId, grant.value);
  if (block) return refuseBlocked(block);
  if (state.kind === "rotated") return replay(deps, request, attempt, grant, state.by);
  state.kind satisfies "current";
  return undefined;
}

async function findBlock(
  { session: { blocks, identities } }: TokenDeps,
  grantId: string,
  { userId }: GrantRecord,
): Promise<Block | undefined> {
  if (blocks === undefined || blocks.size === 0) return undefined;
  const user = (await identities.find(userId)) ?? { id: userId, email: "" };
  return blocks.find({ user, grantId });
}

/** Requires the lease. @returns undefined if the grant changed meanwhile and must be checked again */
async function refreshAlone(
  deps: TokenDeps,
  request: TokenRequest,
  attempt: Attempt,
): Promise<StepResult<TokenAnswer> | undefined> {
  const { grantId } = attempt.opened;
  const grant = await findGrant(deps.store, grantId);
  if (!grant?.value.refresh || !isCurrentToken(grant.value.refresh, attempt.opened)) return undefined;
  if (!isBoundTo(attempt.opened, grant.value)) return undefined;

  // The resource must be granted. If its route is gone, the client must authorize again.
  const audience = chooseAudience(request, grant.value.audience);
  if (!audience.ok) return request.form.has("resource") ? audience : badToken("the granted resource is gone");

  // Clients go to the authorization endpoint, where the upstream is connected, only after a failed refresh.
  const routes = routesOfAudience(request.issuer, audience.value);
  const [only, ...others] = routes;
  if (only && others.length === 0 && (await deps.upstream?.mustConnect(grant.value.userId, routes)) === true) {
    return badToken("the upstream must be connected");
  }

  // The session must be active, or be re-created from the provider.
  const session = await renewSession(deps, request, grantId, grant.value);
  if (!session.ok) return session;
  const { lifetimes } = request.snapshot.settings;
  const { endsAt: _, ...rest } = grant.value;
  const renewed = { ...rest, sessionExpiresAt: session.value, ...endOf(rest.createdAt, lifetimes) };
  // The steps above may be slow. The replay window must start with the write.
  const now = epochSeconds(deps.clock);
  const access = mintAccessToken(deps.session.externalTokens, { ...request, now }, grantId, renewed, audience.value);

  // "Refresh tokens for public clients MUST either be sender-constrained or use refresh token rotation" (OAuth 2.1 §4.3.1).
  const rotates = request.client.isPublic;
  const refreshToken = rotates
    ? mintRefreshToken(deps.keys, attempt.owner, grantId, grant.value.refresh.generation + 1, grant.value)
    : attempt.token;
  const answer = { ...access, scope: grant.value.scope, refreshToken };
  const refresh = rotates
    ? rotateFamily(deps.keys, grant.value.refresh, attempt.token, answer, await deps.store.now())
    : grant.value.refresh;

  // A single write: the old token becomes invalid exactly when the new one becomes valid.
  const written = await deps.store.put(grantKey(grantId), { ...renewed, refresh } satisfies GrantRecord, {
    ifVersion: grant.version,
    expiresAt: Math.min(now + lifetimes.refreshToken, renewed.endsAt ?? Infinity),
    tags: grant.tags,
  });
  return written.ok ? pass(answer) : undefined;
}

/** Returns the end of the session for new tokens (test/requirements.ts, "States and transitions"). */
async function renewSession(
  deps: TokenDeps,
  request: TokenRequest,
  grantId: string,
  grant: GrantRecord,
): Promise<StepResult<number>> {
  if (grant.sessionExpiresAt > request.now) {
    const user = await deps.session.identities.find(grant.userId);
    if (user) return pass(grant.sessionExpiresAt);
    await endGrant(deps, grantId, "user gone");
    return badToken("the user is gone");
  }
  const identity = await deps.session.identities.refresh(grant.userId);
  if (!identity.ok && identity.reason === "unavailable") {
    return refuse("temporarily_unavailable", "The identity provider cannot be reached", "provider unavailable");
  }
  if (!identity.ok) {
    await endGrant(deps, grantId, "the identity provider refused the user");
    return badToken("the identity provider refused the user");
  }
  // "The new session is evaluated under current policy": a user without access gets none.
  const routes = routesOfAudience(request.issuer, grant.audience);
  if (!routes.some((route) => mayReachSomething(route.policy, identity.user))) return badToken("denied by policy");
  deps.log.info({ grant: grantId, user: grant.userId }, "session recreated");
  return pass(request.now + request.snapshot.settings.cookie.expirationSeconds);
}

/** Repeats the response of the rotation. For another granted resource, only the access token differs. */
function replay(
  deps: TokenDeps,
  request: TokenRequest,
  attempt: Attempt,
  grant: StoredRecord<GrantRecord>,
  by: RotatedToken,
): StepResult<TokenAnswer> {
  const answer = grant.value.refresh && replayAnswer(deps.keys, grant.value.refresh, attempt.token, by);
  if (!answer) return badToken("the answer cannot be repeated");
  // The repeated access token is bound to the same key, or to none.
  if (answer.keyThumbprint !== request.keyThumbprint) return badProof();
  const audience = chooseAudience(request, grant.value.audience);
  if (!audience.ok) return audience;
  if (audience.value === answer.audience) return pass(answer);
  return pass({
    ...answer,
    ...mintAccessToken(deps.session.externalTokens, request, attempt.opened.grantId, grant.value, audience.value),
  });
}

function badProof(): ReturnType<typeof refuse> {
  return refuse("invalid_dpop_proof", "The request needs a DPoP proof by the key of the refresh token");
}

function badToken(detail: string): ReturnType<typeof refuse> {
  return refuse("invalid_grant", "The refresh token is not valid", `refresh token: ${detail}`);
}
