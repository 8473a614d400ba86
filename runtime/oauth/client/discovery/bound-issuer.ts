/**
 * The authorization server of a route's configured client (MCP authorization, SEP-2352): its secrets and assertions go
 * to this issuer only.
 *
 * Untrusted input: the issuer that the upstream's metadata names. `authorization_server_url` decides; without it the
 * first issuer that was used is recorded. Promise: later metadata cannot change the issuer.
 */
import type { Keys } from "../../../shared/keys.ts";
import type { Log } from "../../../shared/log.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { Store } from "../../../store/store.ts";
import { BOUND_ISSUER_SECONDS, boundIssuerKey, type BoundIssuerRecord } from "../connection-records.ts";
import type { UpstreamTarget } from "../target.ts";

export interface BoundIssuersDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export interface BoundIssuers {
  /** @returns undefined if the route has no client of its own, its endpoints are configured, or no issuer was used yet */
  find(target: UpstreamTarget): Promise<string | undefined>;
  /** Records the issuer if none was used yet. @returns the result of `find` afterwards */
  bind(target: UpstreamTarget, issuer: string): Promise<string | undefined>;
}

export function createBoundIssuers(deps: BoundIssuersDeps): BoundIssuers {
  const { store, clock, log } = deps;
  // Sealed: otherwise an attacker with write access to the store could choose the issuer.
  const sealer = deps.keys.sealer("vault");

  const put = (key: string, issuer: string, ifVersion: number) => {
    const record: BoundIssuerRecord = { schema: 1, boundIssuer: sealer.seal(issuer, key) };
    return store.put(key, record, { ifVersion, expiresAt: epochSeconds(clock) + BOUND_ISSUER_SECONDS });
  };

  const read = async (key: string): Promise<{ readonly issuer: string | undefined; readonly version: number }> => {
    const stored = await store.get<BoundIssuerRecord>(key);
    // A seal that does not open counts as a deleted record: the shared secret was replaced.
    const issuer = stored && sealer.open(stored.value.boundIssuer, key)?.toString();
    const left = (stored?.expiresAt ?? 0) - epochSeconds(clock);
    if (stored && issuer !== undefined && left < BOUND_ISSUER_SECONDS / 2) await put(key, issuer, stored.version);
    return { issuer, version: stored?.version ?? 0 };
  };

  const find: BoundIssuers["find"] = async (target) => {
    if (target.mode !== "credentials") return undefined;
    return target.server.authorizationServerUrl ?? (await read(boundIssuerKey(target))).issuer;
  };

  return {
    find,
    async bind(target, issuer) {
      if (target.mode !== "credentials") return undefined;
      if (target.server.authorizationServerUrl !== undefined) return target.server.authorizationServerUrl;
      const key = boundIssuerKey(target);
      const known = await read(key);
      if (known.issuer !== undefined) return known.issuer;
      if (!(await put(key, issuer, known.version)).ok) return (await read(key)).issuer ?? "";
      log.warn(
        { route: target.route.key, issuer },
        "upstream client bound to the first issuer that its upstream named",
      );
      return issuer;
    },
  };
}
