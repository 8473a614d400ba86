/** An authorization request that waits for a person, and what that person approved before. */
import type { Snapshot } from "../config/compiled.ts";
import { hashSecret } from "../keys.ts";
import { mayReachSomething } from "../policy/reach.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Principal } from "../session/principal.ts";
import { findSite, type Site } from "../session/sites.ts";
import type { Store } from "../store/store.ts";
import { findClient, type Client, type ClientDeps } from "./client.ts";
import { findIssuerByOrigin, routesOfAudience, type McpServerRoute } from "./find-issuer.ts";
import {
  AUTHORIZATION_REQUEST_SECONDS,
  authorizationRequestKey,
  CONSENT_SECONDS,
  consentKey,
  ownerTags,
  type AuthorizationRequestRecord,
  type ConsentRecord,
} from "./records.ts";
import { isLoopbackRedirectUri } from "./redirect-uri.ts";
import { coversScope } from "./scope.ts";

export interface WaitingDeps {
  readonly store: Store;
  readonly clients: ClientDeps;
  readonly clock: Clock;
}

/** A waiting request with everything that is known about it now. */
export interface Waiting {
  readonly id: string;
  readonly request: AuthorizationRequestRecord;
  readonly client: Client;
  /** Routes that the tokens would be good for; at least one. */
  readonly routes: readonly McpServerRoute[];
}

/** The request under this id, when it still means what it meant when it was judged. */
export async function findWaiting(
  deps: WaitingDeps,
  site: Site,
  snapshot: Snapshot,
  id: string | undefined,
): Promise<Waiting | undefined> {
  if (id === undefined || !/^[A-Za-z0-9_-]{43}$/.test(id)) return undefined;
  const record = await deps.store.get<AuthorizationRequestRecord>(authorizationRequestKey(id));
  if (!record) return undefined;
  const request = record.value;
  const issuer = findIssuerByOrigin(snapshot, request.issuer);
  // Without an authenticate service every host shows its own pages, and only its own.
  if (!issuer || findSite(snapshot, issuer.host)?.authenticateOrigin !== site.origin) return undefined;
  const routes = routesOfAudience(issuer, request.audience);
  const lookup = await findClient(deps.clients, issuer, snapshot, request.clientId);
  // Other metadata may mean another redirect URI or another name than was judged.
  if (routes.length === 0 || !lookup.ok || lookup.client.metadataHash !== request.metadataHash) return undefined;
  return { id, request, client: lookup.client, routes };
}

export function mayReach(waiting: Waiting, principal: Principal): boolean {
  return waiting.routes.some((route) => mayReachSomething(route.policy, principal.user));
}

/** One approval covers one user, client, resource and version of the client's metadata. */
function consentId(waiting: Waiting, principal: Principal): string {
  const { clientId, audience, metadataHash } = waiting.request;
  return consentKey(hashSecret(JSON.stringify([principal.user.id, clientId, audience, metadataHash])));
}

export async function isRemembered(deps: WaitingDeps, waiting: Waiting, principal: Principal): Promise<boolean> {
  const { request, client } = waiting;
  if (request.askAgain) return false;
  // A document's client id is public, so any program on the machine can use it with a loopback address: "SHOULD NOT
  // process repeat requests automatically" (RFC 8252 §8.6).
  if (client.documentHost !== undefined && isLoopbackRedirectUri(request.redirectUri)) return false;
  const consent = await deps.store.get<ConsentRecord>(consentId(waiting, principal));
  return consent !== undefined && coversScope(consent.value.scope, request.scope);
}

/** Notes on the waiting request who approved it. @returns false when the request is over or somebody else approved it */
export async function markApproved(deps: WaitingDeps, waiting: Waiting, principal: Principal): Promise<boolean> {
  const key = authorizationRequestKey(waiting.id);
  const record = await deps.store.get<AuthorizationRequestRecord>(key);
  if (!record || (record.value.approvedBy && record.value.approvedBy.userId !== principal.user.id)) return false;
  const approved: AuthorizationRequestRecord = {
    ...record.value,
    approvedBy: { userId: principal.user.id, sid: principal.sid },
  };
  // A fresh ten minutes: signing in elsewhere takes its time.
  const expiresAt = epochSeconds(deps.clock) + AUTHORIZATION_REQUEST_SECONDS;
  return (await deps.store.put(key, approved, { ifVersion: record.version, expiresAt })).ok;
}

export async function remember(deps: WaitingDeps, waiting: Waiting, principal: Principal): Promise<void> {
  const { clientId, audience, metadataHash, scope } = waiting.request;
  const now = epochSeconds(deps.clock);
  const consent: ConsentRecord = {
    schema: 1,
    userId: principal.user.id,
    clientId,
    clientName: waiting.client.metadata.client_name ?? clientId,
    audience,
    metadataHash,
    scope,
    grantedAt: now,
  };
  await deps.store.put(consentId(waiting, principal), consent, {
    expiresAt: now + CONSENT_SECONDS,
    tags: ownerTags(consent),
  });
}
