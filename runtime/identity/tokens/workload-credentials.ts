/**
 * Platform tokens on ordinary routes, where `bearer_token_format` is `jwt`. Tokens and rules are the same as at the
 * token endpoint, without an exchange, which only MCP clients need.
 *
 * Untrusted input: the token. Promises: it is accepted if an active rule of its issuer opens the route, checked at
 * every request, and never past its expiry. A rejected token is checked again after `REFUSED_MS`.
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

/** A signature is not verified again within this time: withdrawn keys become invalid after it. */
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
  /** @param origin origin of the host where the token is presented */
  principal(token: string, origin: string, route: Pick<CompiledRoute, "base">): Promise<AuthResult> | AuthResult;
}

interface Verified {
  readonly result: AuthResult;
  /** The configuration of the result. */
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
    const presented = {
      entries: issuersFor(issuers, "workload", origin),
      audiences: [origin, `${origin}/`],
      now: epochSeconds(clock),
    };
    const verified = await verifyWorkload(deps.issuerKeys, presented, token);
    // Reading keys takes time: evaluate by the current rules.
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
    // Unreadable keys yield no cached result, neither accepting nor rejecting.
    if (!result.ok && result.reason === "unavailable") {
      known.delete(key);
      return result;
    }
    const current = earlier && isSame(earlier.result, result) ? earlier.result : result;
    const askAgainAtMs = steady.now() + (result.ok ? FRESH_MS : REFUSED_MS);
    known.set(key, { result: current, issuers, askAgainAtMs, visited: false });
    return current;
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

/** The same object while nothing changes: assertions are cached by it. */
function isSame(earlier: AuthResult, now: AuthResult): boolean {
  if (!earlier.ok || !now.ok) return false;
  const { principal: before } = earlier;
  return (
    before.expiresAt === now.principal.expiresAt &&
    JSON.stringify([before.user, before.assertedBy]) === JSON.stringify([now.principal.user, now.principal.assertedBy])
  );
}
