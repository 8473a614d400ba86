/** Current state of a principal, for responses that stay open while groups and claims change or accounts are closed. */
import type { Snapshots } from "../config/snapshot.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { createConfirmation } from "./confirm-credential.ts";
import type { IdentityService } from "./identities.ts";
import type { ProviderTokenCredentials } from "./tokens/program-credentials.ts";
import type { Principal } from "./principal.ts";
import type { SessionRecords } from "./identity-records.ts";

/**
 * Re-checks a principal. The record of an expired credential may already be deleted, so the user decides then.
 * Revocations end responses by their key (proxy/forwarding/streams.ts).
 *
 * @returns the principal with the user's current claims, the same object while nothing changed; undefined if the user
 *   or credential no longer exists
 * @throws GatewayError `store.unavailable`
 */
export type CurrentPrincipal = (principal: Principal) => Promise<Principal | undefined>;

export interface CurrentPrincipalDeps {
  readonly store: Pick<Store, "get">;
  readonly records: Pick<SessionRecords, "sessions" | "serviceAccounts" | "devices">;
  readonly identities: Pick<IdentityService, "load">;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly programs: Pick<ProviderTokenCredentials, "again">;
  readonly clock: Clock;
}

export async function currentPrincipal(
  deps: CurrentPrincipalDeps,
  principal: Principal,
): Promise<Principal | undefined> {
  const confirmed = await confirmedPrincipal(deps, principal);
  if (confirmed !== undefined || principal.expiresAt > epochSeconds(deps.clock)) return confirmed;
  // A deleted service account has ended. An expired token cannot be checked with its issuer.
  if (principal.kind === "service-account") return undefined;
  if (principal.kind === "provider-token" || principal.kind === "workload") return principal;
  // A run ends with its record.
  if (principal.user.actor !== undefined) return undefined;
  const user = await deps.identities.load(principal.user.id);
  return user === undefined || user.version === principal.user.version ? user && principal : { ...principal, user };
}

async function confirmedPrincipal(deps: CurrentPrincipalDeps, principal: Principal): Promise<Principal | undefined> {
  const isOthers =
    principal.kind === "provider-token" || (principal.kind === "workload" && principal.grantId === undefined);
  if (isOthers) return deps.programs.again(principal);
  // Revocations end open responses separately, as soon as they are known.
  const confirm = createConfirmation({ ...deps, revocations: { isRevoked: () => false } });
  const { kind, sid, user, expiresAt, sessionId, grantId, clientId, scopes, keyThumbprint } = principal;
  const result = await confirm(
    {
      kind,
      userId: user.id,
      audience: "",
      expiresAt,
      ...(kind === "service-account" ? { accountId: sid } : {}),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(user.actor !== undefined ? { runId: user.actor.run } : grantId === undefined ? {} : { grantId }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
    },
    principal,
  );
  return result.ok ? result.principal : undefined;
}
