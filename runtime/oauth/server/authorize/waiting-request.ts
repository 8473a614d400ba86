/** A pending authorization request, and the user's remembered consents. */
import { createHmac } from "node:crypto";

import type { Snapshot } from "../../../config/snapshot.ts";
import { type Keys, sameSecret } from "../../../shared/keys.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { Principal } from "../../../identity/principal.ts";
import { findSite, type Site } from "../../../identity/sites.ts";
import type { Store } from "../../../store/store.ts";
import { findClient, type Client, type ClientDeps } from "../clients/client.ts";
import { findIssuerByOrigin, routesOfAudience, type McpServerRoute } from "../find-issuer.ts";
import { CONSENT_SECONDS, consentKey, ownerTags, type ConsentRecord } from "../grant-records.ts";
import { isLoopbackRedirectUri } from "../clients/redirect-uri.ts";
import type { FoundRequest, RequestStates } from "./request-state.ts";
import { coversScope, joinScopes } from "../scope.ts";

export interface WaitingDeps {
  readonly store: Store;
  readonly clients: ClientDeps;
  readonly requests: RequestStates;
  readonly keys: Keys;
  readonly clock: Clock;
}

/** A pending request with its current client and routes. */
export interface Waiting extends FoundRequest {
  readonly client: Client;
  /** Routes of the tokens, at least one. */
  readonly routes: readonly McpServerRoute[];
}

/** Returns the request of this parameter if client, metadata and routes are still the same. */
export async function findWaiting(
  deps: WaitingDeps,
  site: Site,
  snapshot: Snapshot,
  text: string | undefined,
  peer: string,
): Promise<Waiting | undefined> {
  const found = text === undefined ? undefined : await deps.requests.find(text);
  if (!found) return undefined;
  const { request } = found;
  const issuer = findIssuerByOrigin(snapshot, request.issuer);
  // Without an authenticate service, every host shows only its own pages.
  if (!issuer || findSite(snapshot, issuer.host)?.authenticateOrigin !== site.origin) return undefined;
  const routes = routesOfAudience(issuer, request.audience);
  const lookup = await findClient(deps.clients, issuer, snapshot, request.clientId, peer);
  // Changed metadata may have another redirect URI or name than the checked one.
  if (routes.length === 0 || !lookup.ok || lookup.client.metadataHash !== request.metadataHash) return undefined;
  return { ...found, client: lookup.client, routes };
}

export function mayReach(waiting: Waiting, principal: Principal): boolean {
  return waiting.routes.some((route) => mayReachSomething(route.policy, principal.user));
}

/**
 * Store keys of a remembered consent for one user, client, resource and metadata version, for each secret, the current
 * one first. Keys and scope proofs are MACs: write access to the store must not allow forging a consent or its scope.
 */
function consentPlaces({ keys }: WaitingDeps, waiting: Waiting, principal: Principal) {
  const { clientId, audience, metadataHash } = waiting.request;
  const about = [principal.user.id, clientId, audience, metadataHash];
  return keys.derive("remembered-consent").map((secret) => {
    const mac = (content: readonly string[]): string =>
      createHmac("sha256", secret).update(JSON.stringify(content)).digest("base64url");
    return { key: consentKey(mac(about)), proofOf: (scope: string) => mac([...about, scope]) };
  });
}

async function findConsent(
  deps: WaitingDeps,
  waiting: Waiting,
  principal: Principal,
): Promise<ConsentRecord | undefined> {
  for (const { key, proofOf } of consentPlaces(deps, waiting, principal)) {
    const consent = (await deps.store.get<ConsentRecord>(key))?.value;
    if (consent && sameSecret(consent.proof ?? "", proofOf(consent.scope))) return consent;
  }
  return undefined;
}

export async function isRemembered(deps: WaitingDeps, waiting: Waiting, principal: Principal): Promise<boolean> {
  const { request, client } = waiting;
  if (request.askAgain) return false;
  // A document's client id is public, so any program on the computer can use it with a loopback address: "SHOULD NOT
  // process repeat requests automatically" (RFC 8252 §8.6).
  if (client.documentHost !== undefined && isLoopbackRedirectUri(request.redirectUri)) return false;
  const consent = await findConsent(deps, waiting, principal);
  return consent !== undefined && coversScope(consent.scope, request.scope);
}

export async function remember(deps: WaitingDeps, waiting: Waiting, principal: Principal): Promise<void> {
  const { clientId, audience, metadataHash, scope } = waiting.request;
  const [current] = consentPlaces(deps, waiting, principal);
  if (!current) return;
  const earlier = await findConsent(deps, waiting, principal);
  const now = epochSeconds(deps.clock);
  // Earlier consent stays valid if a client requests scopes one at a time.
  const joined = earlier ? joinScopes(earlier.scope, scope) : scope;
  const consent: ConsentRecord = {
    schema: 1,
    userId: principal.user.id,
    clientId,
    clientName: waiting.client.metadata.client_name ?? clientId,
    audience,
    metadataHash,
    scope: joined,
    proof: current.proofOf(joined),
    grantedAt: now,
  };
  await deps.store.put(current.key, consent, {
    expiresAt: now + CONSENT_SECONDS,
    tags: ownerTags(consent),
  });
}
