/** Composition of the console, loaded only if the main configuration file has `console`. */
import type { Approvals } from "./approvals/interfaces.ts";
import { createMintedTokens } from "./admin-listener/minted-tokens.ts";
import { type Console, createConsole } from "./console/module.ts";
import { createStatus } from "./console/overview/status.ts";
import { createPolicyScreens } from "./console/simulator/policy-screens.ts";
import type { ConsoleSettings } from "./features/access/console.ts";
import { TIERS } from "./health/tiers.ts";
import type { UpstreamStatus } from "./features/balancing/apply-state.ts";
import type { CoreServices, Own, GatewayOptions } from "./core-services.ts";
import type { People } from "./people.ts";
import type { DeviceProofs } from "./identity/interfaces.ts";
import type { UpstreamModule } from "./oauth/client/upstream.ts";

export interface ConsoleParts {
  readonly settings: ConsoleSettings;
  readonly recordAction: NonNullable<CoreServices["recordAction"]>;
  readonly health: NonNullable<CoreServices["health"]>;
  readonly session: People;
  readonly approvals: Approvals;
  readonly deviceProofs: DeviceProofs;
  readonly upstream: UpstreamModule;
  /** Status of upstreams with several addresses, health checks or ejection. */
  readonly upstreams: () => readonly UpstreamStatus[];
}

export function openConsole(ground: CoreServices, { config }: GatewayOptions, parts: ConsoleParts, own: Own): Console {
  const { bundle, store, keys, blocks, toolLocks, listedTools, recordReader: records, log, clock } = ground;
  const { settings, recordAction, health, session, approvals, deviceProofs, upstream, upstreams } = parts;
  const shown = { store, blocks, connections: upstream.connections, records };
  const status = createStatus({ health: health.reader, approvals, toolLocks, clock });
  const publishTokens = createMintedTokens({ store, clock });
  const objects = { store, clock, log, revocations: session.revocations, publishTokens, recordAction };
  // Simulator and changes share one thread.
  const { drafts, simulator, changes } = createPolicyScreens({ ...ground, config, records });
  own(drafts);
  return own(
    createConsole({
      ...session,
      store,
      snapshots: bundle,
      keys,
      log,
      clock,
      settings,
      blocks,
      deviceProofs,
      recordAction,
      reader: records,
      status,
      screens: {
        overview: { status, toolLocks, records, store, clock },
        search: { store, records },
        health: { health: health.reader },
        servers: {
          ...shown,
          toolLocks,
          listedTools,
          upstreams,
          recordAction,
          traffic: () => health.reader.traffic(TIERS[1] ?? TIERS[0]),
        },
        people: { ...shown, ...objects, listedTools, disconnect: (...of) => upstream.disconnect(...of) },
        approvals: { approvals, records, identities: session.identities },
        toolLock: { toolLocks },
        clients: { ...shown, ...objects },
        objects,
        simulator,
        changes: { ...changes, own: () => status.health.own() },
      },
    }),
  );
}
