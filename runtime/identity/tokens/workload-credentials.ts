/**
 * Tokens of platforms on ordinary routes, where `bearer_token_format` is `jwt`: the same tokens and the same rules as at the
 * token endpoint, without an exchange, since no MCP client is in the way that would want one.
 *
 * Untrusted input: the token. Promises: it counts where a rule of its issuer opens the route, under the rules in force at each
 * request, and never past its end; a refused one is looked at again after `REFUSED_MS`.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { issuersFor, type TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { epochSeconds, steadyClock, type Clock } from "../../shared/clock.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { refusal } from "../confirm-credential.ts";
import { userTag } from "../identity-records.ts";
import { asserter, workloadUser } from "../users/asserted.ts";
import type { IssuerKeys } from "../../issuers/issuer-keys.ts";
import { verifyWorkload, type Workload } from "../../issuers/workload-token.ts";
import type { AuthResult, Principal } from "../principal.ts";

/** So long a signature is not looked at again: keys that were withdrawn are good for no longer. */
const FRESH_MS = 60_000;
const REFUSED_MS = 10_000;
const CACHE_ENTRIES = 10_000;

export interface WorkloadCredentialDeps {
  readonly issuerKeys: IssuerKeys;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface WorkloadCredentials {
  /** @param origin of the host where it is presented */
  principal(token: string, origin: string, route: Pick<CompiledRoute, "base">): Promise<AuthResult> | AuthResult;
}

interface Verified {
  readonly result: AuthResult;
  /** The configuration under which it was made. */
  readonly issuers: readonly TrustedIssuer[];
}

interface Entry extends Verified, Visited {
  readonly askAgainAtMs: number;
}

export function createWorkloadCredentials(deps: WorkloadCredentialDeps): WorkloadCredentials {
  const { clock, log } = deps;
  const steady = steadyClock(clock);
  const known = new BoundedCache<Entry>(CACHE_ENTRIES);
  const pending = new Map<string, Promise<AuthResult>>();

  const verify = async (token: string, key: string, origin: string, base: string): Promise<Verified> => {
    const { settings } = deps.snapshots.current();
    const issuers = settings.identityIssuers;
    const place = {
      entries: issuersFor(issuers, "workload", origin),
      audiences: [origin, `${origin}/`],
      now: epochSeconds(clock),
    };
    const verified = await verifyWorkload(deps.issuerKeys, place, token);
    // Reading keys takes a while: the rules of now decide.
    if (deps.snapshots.current().settings.identityIssuers !== issuers) return verify(token, key, origin, base);
    if (!verified.ok) {
      log.info({ reason: verified.detail }, "workload token rejected");
      return { result: refusal(verified.reason === "bad" ? "malformed" : "unavailable"), issuers };
    }
    const { workload } = verified;
    const rules = workload.rules.filter(({ resources }) =>
      resources.some((resource) => resource === origin || (base !== "" && resource === trimSlash(origin + base))),
    );
    if (rules.length === 0) return { result: refusal("wrong-audience"), issuers };
    const assertedBy = asserter(workload.entry, origin, rules);
    const user = workloadUser(settings, assertedBy, workload.userId);
    const principal = user && principalOf(workload, user, assertedBy, key);
    return { result: principal ? { ok: true, principal } : refusal("revoked"), issuers };
  };

  const remember = (key: string, { result, issuers }: Verified, earlier: Entry | undefined): AuthResult => {
    // Nobody is let in, or refused, because keys could not be read a while ago.
    if (!result.ok && result.reason === "unavailable") {
      known.delete(key);
      return result;
    }
    const kept = earlier && isSame(earlier.result, result) ? earlier.result : result;
    const askAgainAtMs = steady.now() + (result.ok ? FRESH_MS : REFUSED_MS);
    known.set(key, { result: kept, issuers, askAgainAtMs, visited: false });
    return kept;
  };

  return {
    principal(token, origin, { base }) {
      const key = hashSecret(`${origin} ${base} ${token}`);
      const issuers = deps.snapshots.current().settings.identityIssuers;
      const entry = known.get(key);
      if (entry?.issuers === issuers && steady.now() < entry.askAgainAtMs) {
        const { result } = entry;
        return result.ok && result.principal.expiresAt <= epochSeconds(clock) ? refusal("expired") : result;
      }
      const running = pending.get(key);
      if (running) return running;
      const verifying = verify(token, key, origin, base)
        .then((verified) => remember(key, verified, entry))
        .finally(() => pending.delete(key));
      pending.set(key, verifying);
      return verifying;
    },
  };
}

function principalOf(
  { userId, expiresAt }: Workload,
  user: Principal["user"],
  assertedBy: NonNullable<Principal["assertedBy"]>,
  key: string,
): Principal {
  const revocationKeys = [`workload-token:${key}`, userTag(userId)];
  return { kind: "workload", user, sid: key.slice(0, 22), assertedBy, expiresAt, revocationKeys };
}

/** The same object while nothing changed, since assertions are remembered by it. */
function isSame(earlier: AuthResult, now: AuthResult): boolean {
  if (!earlier.ok || !now.ok) return false;
  const { principal: before } = earlier;
  return (
    before.expiresAt === now.principal.expiresAt &&
    JSON.stringify([before.user, before.assertedBy]) === JSON.stringify([now.principal.user, now.principal.assertedBy])
  );
}
