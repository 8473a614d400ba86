/**
 * `gateway run --workers N`: forks the workers and represents all of them on the admin port.
 *
 * The supervisor handles no user requests. It validates and stores publications, wakes its workers, and responds when
 * they, and all other replicas of the store, have activated them. When it dies its workers end as well, so that its
 * parent starts all of them again.
 */
import { problemsText } from "../config/surfaces/documentation.ts";
import { setTimeout as delay } from "node:timers/promises";

import { recordPublished, recordQueued } from "../records/record-published.ts";
import { createAdminListener } from "../admin-listener/listener.ts";
import { createMintedTokens } from "../admin-listener/minted-tokens.ts";
import { objectEndpoint } from "../admin-listener/objects/endpoint.ts";
import { publishTokenEndpoint } from "../admin-listener/publish-tokens.ts";
import { createPublishWorkloads } from "../admin-listener/publish-workloads.ts";
import { sliceEndpoint } from "../admin-listener/publishing/slices.ts";
import { openAdminCertificates } from "../admin-listener/tls.ts";
import { type Boot, readBoot, logsWait } from "../bundle/boot.ts";
import { createCandidateValidation, publishedSources } from "../bundle/validation/validate-candidates.ts";
import { presenceKey, processName } from "../bundle/presence.ts";
import { healthKey } from "../health/report-health.ts";
import { createPreviousSliceStore } from "../bundle/previous-slice-store.ts";
import type { SealedSlice } from "../bundle/validation/protocol.ts";
import { createPublishedSlices } from "../bundle/published.ts";
import { createPublishCounter } from "../admin-listener/bundle-series.ts";
import { Publisher } from "../bundle/publisher.ts";
import { Validator } from "../bundle/validation/validator.ts";
import { closeAll } from "../shared/faults/close-all.ts";
import { GatewayError } from "../shared/errors.ts";
import { createKeys } from "../shared/keys.ts";
import { createLog, type Log } from "../shared/log.ts";
import { createRevocations, REMEMBERED_SECONDS } from "../identity/revocations.ts";
import { systemClock, type Closable } from "../shared/clock.ts";
import { reportFaults } from "../admin-listener/process-facts.ts";
import { watchDescriptors } from "./descriptors.ts";
import { openRecords } from "../record-kinds.ts";
import { watchStore } from "../store/watch/watched-store.ts";
import { startFleet } from "./fleet.ts";
import { mergedPages } from "./merged-pages.ts";

export interface SupervisorOptions {
  readonly config: string;
  /** 2 or more. */
  readonly workers: number;
  readonly log?: Log;
}

export interface Supervisor extends Closable {
  readonly origin: string;
  /** As configured: `origin` is one address of many if it names no host. */
  readonly address: string;
  readonly adminOrigin: string;
  reopenLogs(): void;
  /** Longest time of `close()`. */
  readonly closeTimeoutMs: number;
}

/** Added to the drain time, for closing. */
const STOP_GRACE_MS = 5_000;

/** @throws GatewayError with every problem of the configuration, or of opening its resources */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { config, workers } = options;
  const opened: Closable[] = [];
  const own = <T extends Closable>(part: T): T => {
    opened.push(part);
    return part;
  };

  try {
    const onWait = logsWait(() => options.log ?? createLog());
    const boot = await readBoot(config, { env: process.env, starts: true, onWait });
    if (boot.vault) own(boot.vault);
    refuseAlone(boot, workers);
    const { settings, sealing, vault } = boot;
    const log = options.log ?? createLog({ level: settings.logLevel });
    const { store, health: storeHealth } = watchStore(
      await openRecords(settings.storageUrl, { clock: systemClock, log }),
      { clock: systemClock },
    );
    own(store);
    own(watchDescriptors(log));
    const faults = own(reportFaults(log));
    const validator = own(new Validator(config, { sealKeys: createKeys(settings.sharedSecrets).derive("kept-slice") }));
    const { slices } = await createPublishedSlices({ store }).read();
    const readPrevious = (): Promise<readonly SealedSlice[]> => createPreviousSliceStore({ store }).read();
    const { problems } = await validator.validate(publishedSources(slices), [], await readPrevious());
    if (problems.some(({ severity }) => severity === "error")) {
      throw new GatewayError("config.invalid", problemsText(problems));
    }

    let draining = false;
    const name = processName();
    const fleet = await startFleet({
      config,
      names: Array.from({ length: workers }, (_, index) => `${name}/${index + 1}`),
      // The dead worker cannot remove its own heartbeats, and publications must not wait for it.
      onGone(worker) {
        for (const key of [presenceKey(worker), healthKey(worker)]) void store.delete(key).catch(() => false);
      },
      log,
    });
    own({ close: () => fleet.stop(settings.drainTimeoutMs + STOP_GRACE_MS) });
    const onError = (error: GatewayError): void => log.error({ err: error }, "cannot record publication");
    // As in each worker, see core-services.ts.
    const recordsActions = settings.audit || settings.console !== undefined;
    const recording = { store, clock: systemClock, onError };
    const publishes = createPublishCounter();
    const publisher = new Publisher({
      store,
      validate: createCandidateValidation(validator, () => ({ env: process.env, sealing, vault }), readPrevious),
      clock: systemClock,
      record: recordsActions ? recordPublished(recording) : undefined,
      onStored: () => fleet.tell({ type: "look" }),
      onAwaited: (result) => publishes.add({ result }),
    });
    const isDraining = (): boolean => draining;
    const pages = mergedPages({
      fleet,
      storeHealth,
      sealKey: sealing?.publicJwk,
      isDraining,
      series: [publishes.series, faults.series],
    });
    const certificates = await openAdminCertificates(settings.adminTls, log);
    if (certificates) own(certificates);
    const mintedTokens = createMintedTokens({ store, clock: systemClock });
    const record = recordsActions ? recordQueued(recording) : undefined;
    const revocations = own(
      createRevocations({ store, clock: systemClock, log, longestLifetime: () => REMEMBERED_SECONDS }),
    );
    const admin = own(
      await createAdminListener({
        address: settings.adminAddress,
        hosts: settings.adminHosts,
        certificates,
        token: settings.adminToken,
        publishTokens: settings.publishTokens,
        mintedTokens,
        workloads: createPublishWorkloads(settings, { clock: systemClock, log }),
        pages,
        endpoints: [
          sliceEndpoint(publisher, validator),
          publishTokenEndpoint(mintedTokens, log, record),
          objectEndpoint({ store, clock: systemClock, log, revocations, publishTokens: mintedTokens, record }),
        ],
        log,
      }),
    );
    log.info({ address: fleet.origin, admin: admin.origin, workers }, "gateway ready");

    return {
      origin: fleet.origin,
      address: settings.address,
      adminOrigin: admin.origin,
      reopenLogs: () => fleet.tell({ type: "reopen-logs" }),
      closeTimeoutMs: settings.drainDelayMs + settings.drainTimeoutMs + 2 * STOP_GRACE_MS,
      async close() {
        draining = true;
        if (settings.drainDelayMs > 0) await delay(settings.drainDelayMs);
        // Before the admin listener, which reports meanwhile that this gateway is stopping.
        await fleet.stop(settings.drainTimeoutMs + STOP_GRACE_MS);
        await closeAll(opened);
      },
    };
  } catch (error) {
    // The first failure is the one to report.
    await closeAll(opened).catch(() => {});
    throw error;
  }
}

/** Rejects resources that each worker would have separately, but that must be shared. */
function refuseAlone({ settings, sealing }: Boot, workers: number): void {
  const refusal = (what: string): GatewayError =>
    new GatewayError("workers.shared", `Cannot run ${workers} workers: ${what}, or run one worker`);
  if (settings.storageUrl === "memory:") {
    throw refusal('"storage_url" is "memory:", which workers cannot share; use SQLite or PostgreSQL');
  }
  if (!sealing) {
    throw refusal('"shared_secret" is not set, so each worker would create its own; set one');
  }
}
