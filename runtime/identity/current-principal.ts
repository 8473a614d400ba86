/** Who a principal is by now: for answers that stay open while groups and claims change, or accounts are closed. */
import type { Snapshots } from "../config/snapshot.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { createConfirmation } from "./confirm-credential.ts";
import type { IdentityService } from "./identities.ts";
import type { ProviderTokenCredentials } from "./tokens/program-credentials.ts";
import type { Principal } from "./principal.ts";
import type { SessionRecords } from "./identity-records.ts";

/**
 * Of a credential that has expired, its record may be gone for that reason alone: then the user decides. What is revoked ends
 * answers by its key (proxy/forwarding/streams.ts).
 *
 * @returns the principal with the user's newest claims, the same object while nothing changed; undefined when there is
 *   no such user or credential any more
 * @throws GatewayError `store.unavailable` when nobody can tell
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
  // A service account that is gone has ended. No issuer can be asked about an expired token.
  if (principal.kind === "service-account") return undefined;
  if (principal.kind === "provider-token" || principal.kind === "workload") return principal;
  const user = await deps.identities.load(principal.user.id);
  return user === undefined || user.version === principal.user.version ? user && principal : { ...principal, user };
}

async function confirmedPrincipal(deps: CurrentPrincipalDeps, principal: Principal): Promise<Principal | undefined> {
  const isOthers =
    principal.kind === "provider-token" || (principal.kind === "workload" && principal.grantId === undefined);
  if (isOthers) return deps.programs.again(principal);
  // Revocations end answers by themselves, as soon as they are known.
  const confirm = createConfirmation({ ...deps, revocations: { isRevoked: () => false } });
  const { kind, sid, user, expiresAt, sessionId, grantId, clientId, scopes } = principal;
  const result = await confirm(
    {
      kind,
      userId: user.id,
      audience: "",
      expiresAt,
      ...(kind === "service-account" ? { accountId: sid } : {}),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(grantId === undefined ? {} : { grantId }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(scopes === undefined ? {} : { scopes }),
    },
    principal,
  );
  return result.ok ? result.principal : undefined;
}
