/** Authorization server and resource of a direct grant: configured, or discovered and cached for a while. */
import { steadyClock, type Clock } from "../../../shared/clock.ts";
import { type AuthorizationServer, configuredServer } from "../discovery/metadata.ts";
import type { Needs } from "../need.ts";
import type { UpstreamTarget } from "../target.ts";

export interface FindAccessDeps {
  readonly needs: Pick<Needs, "discover">;
  readonly clock: Clock;
}

export type Access =
  | { readonly ok: true; readonly server: AuthorizationServer; readonly resource: string }
  /** `detail` is for the log. */
  | { readonly ok: false; readonly why: "unavailable" | "misconfigured" | "issuer-changed"; readonly detail: string };

export interface AccessFinder {
  find(target: UpstreamTarget, grantType: string): Promise<Access>;
  /** Discards the cached result, which does not work. */
  forget(target: UpstreamTarget): void;
}

const KNOWN_MS = 5 * 60_000;

export function createAccessFinder(deps: FindAccessDeps): AccessFinder {
  /** A new configuration has new targets. */
  const known = new WeakMap<UpstreamTarget, { readonly access: Promise<Access>; readonly untilMs: number }>();

  const clock = steadyClock(deps.clock);

  const ask = async (target: UpstreamTarget, grantType: string): Promise<Access> => {
    const resource = target.oauth?.resource;
    const endpoint = target.oauth?.endpoint;
    if (endpoint) return { ok: true, server: configuredServer(endpoint), resource: resource ?? target.url };
    // Without metadata the server is unknown: the fixed endpoints of old servers are only for users who consent.
    const found = await deps.needs.discover(target, { isChallenged: false, grantType });
    if (!found.ok) {
      const { failure } = found;
      const why = failure === "unavailable" || failure === "issuer-changed" ? failure : "misconfigured";
      return { ok: false, why, detail: found.detail };
    }
    const { server } = found.value;
    return { ok: true, server, resource: resource ?? found.value.resource };
  };

  return {
    find(target, grantType) {
      const before = known.get(target);
      if (before && clock.now() < before.untilMs) return before.access;
      const started = { access: ask(target, grantType), untilMs: clock.now() + KNOWN_MS };
      known.set(target, started);
      const drop = (): void => void (known.get(target) === started && known.delete(target));
      started.access.then((access) => access.ok || drop(), drop);
      return started.access;
    },
    forget: (target) => void known.delete(target),
  };
}
