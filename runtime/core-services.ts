/** Services that every part needs: static settings, keys, store, configuration, records and event delivery. */
import { randomUUID } from "node:crypto";

import { startActions } from "./records/actions.ts";
import { followArguments } from "./records/follow-arguments.ts";
import { recordPublished } from "./records/record-published.ts";
import { startRecords } from "./records/start-records.ts";
import { createMetrics } from "./admin-listener/metrics.ts";
import { readBoot, logsWait } from "./bundle/boot.ts";
import { openBundle } from "./bundle/bundle.ts";
import { createPreviousSliceStore } from "./bundle/previous-slice-store.ts";
import { processName } from "./bundle/presence.ts";
import { createPublishedSlices } from "./bundle/published.ts";
import { reportFaults } from "./admin-listener/process-facts.ts";
import { startAlertingOnLag } from "./alerts/lagging-replicas.ts";
import { startAlertingOnRejection } from "./alerts/rejected-configuration.ts";
import { startAlertingOnSinks } from "./alerts/unavailable-sinks.ts";
import { consoleOwners } from "./features/access/console.ts";
import { loadBranding } from "./http/branding.ts";
import { createSafeFetch } from "./http/fetch/safe-fetch.ts";
import type { GatewayError } from "./shared/errors.ts";
import { createKeys, secretIds } from "./shared/keys.ts";
import { createLog, type Log } from "./shared/log.ts";
import { type AdminAction, formatAction } from "./audit/action-record.ts";
import { createRedactor, type RedactorOptions } from "./audit/redaction/redactor.ts";
import { systemClock, type Closable, type Clock } from "./shared/clock.ts";
import type { Notify } from "./audit/events.ts";
import { openRecords } from "./record-kinds.ts";
import { recordPlace } from "./record-store/options.ts";
import { openBlocks } from "./identity/blocks.ts";
import { createListedTools } from "./mcp/listed-tools.ts";
import { openToolLocks } from "./mcp/tool-locks/shared-drift.ts";
import { watchDescriptors } from "./workers/descriptors.ts";
import { watchStore } from "./store/watch/watched-store.ts";
import { startSweeper } from "./store/sweeper.ts";
import { openTracing } from "./tracing/tracing.ts";
import { Webhook } from "./webhook/webhook.ts";
import { traceSeries, webhookSeries } from "./admin-listener/part-series.ts";

/** Registers a part to be closed with the gateway, in reverse order. */
export type Own = <T extends Closable>(part: T) => T;

export type CoreServices = Awaited<ReturnType<typeof openCoreServices>>;

export async function openCoreServices({ config, worker, clock = systemClock, ...options }: GatewayOptions, own: Own) {
  const onWait = logsWait(() => options.log ?? createLog());
  const start = await readBoot(config, { env: process.env, starts: true, onWait });
  if (start.vault) own(start.vault);
  const boot = start.settings;
  const log = (options.log ?? createLog({ level: boot.logLevel })).child(worker === undefined ? {} : { worker });
  const tracing = boot.tracing && own(await openTracing(boot.tracing, { log }));
  const keys = createKeys(boot.sharedSecrets);
  const watched = watchStore(await openRecords(boot.storageUrl, { clock, log }), { clock });
  const { store, health: storeHealth, counts: storeCounts } = watched;
  own(store);
  own(startSweeper({ store, log }));
  own(watchDescriptors(log));
  const published = createPublishedSlices({ store });
  const onReload = tracing?.reloaded;
  // An in-memory store does not survive a restart, so storing slices in it is useless.
  const kept = boot.storageUrl === "memory:" ? undefined : createPreviousSliceStore({ store });
  const sealKeys = keys.derive("kept-slice");
  const bundle = own(
    await openBundle({ path: config, boot: start, published, previousSlices: kept, sealKeys, log, clock, onReload }),
  );
  const redaction: RedactorOptions = { key: boot.digestKey ?? (keys.derive("record-arguments")[0] as Buffer) };
  const redactor = createRedactor(redaction);
  const recordStore = boot.recordStore && {
    maxAgeMs: boot.recordStore.maxAgeMs,
    maxRecords: boot.recordStore.maxRecords,
    place: recordPlace(boot.recordStore.storageUrl, boot.storageUrl),
  };
  // Loaded on demand: a gateway with neither must not pay for them at each start.
  const recordReader =
    recordStore && own((await import("./record-store/record-store.ts")).openRecordReader(recordStore));
  const records = own(await startRecords(boot, { store, keys, clock, log, worker, redaction, recordStore }));
  if (records.thread?.wantsExtra === true) own(followArguments(bundle, records.thread));
  // Administrators' actions are recorded, and the console shows the records.
  const recordsActions = boot.audit || boot.console !== undefined;
  if (recordsActions) own(startActions({ store, records, log }));
  const recordAction = recordsActions
    ? (action: AdminAction) => void records.write(formatAction(clock.now(), randomUUID(), action))
    : undefined;
  const blocks = own(await openBlocks({ store, clock, log }));
  const toolLocks = own(await openToolLocks({ store, clock, log }));
  const listedTools = createListedTools({ log });
  const metrics = createMetrics();
  metrics.register(own(reportFaults(log)).series);
  const id = worker ?? processName();
  const isApart = boot.console && consoleOwners(boot.console);
  const health =
    boot.console &&
    own((await import("./health/health.ts")).startHealth({ store, storeHealth, id, bundle, isApart, clock, log }));
  if (tracing) metrics.register(traceSeries(tracing.counts));
  const { development } = boot;
  const webhook =
    boot.webhook && own(new Webhook(boot.webhook, { store, fetch: createSafeFetch({ development }), clock, log }));
  if (webhook) for (const series of webhookSeries(webhook)) metrics.register(series);
  const notify: Notify = (event) => webhook?.notify(event);
  if (webhook) {
    own(startAlertingOnRejection(bundle, notify));
    own(startAlertingOnLag({ store, notify, clock, log }));
    if (records.thread && boot.recordSinks.length > 0) own(startAlertingOnSinks(records.thread, notify, clock));
  }
  const onError = (error: GatewayError): void => log.error({ err: error }, "cannot record publication");
  const actions = {
    recordAction,
    recordPublished: recordsActions ? recordPublished({ store, clock, onError }) : undefined,
  };
  return {
    ...actions,
    boot,
    branding: boot.branding && (await loadBranding(boot.branding)),
    // A secret made for this start belongs to this process only and is useless afterwards.
    secrets: start.sealing && secretIds(keys),
    id,
    log,
    clock,
    tracing,
    keys,
    store,
    storeHealth,
    storeCounts,
    bundle,
    records,
    recordReader,
    recording: { required: boot.auditRequired, thread: records.thread },
    redactor,
    blocks,
    toolLocks,
    listedTools,
    metrics,
    health,
    webhook,
    notify,
  };
}

export interface GatewayOptions {
  /** A configuration file, or a directory with one main configuration file and slices. */
  readonly config: string;
  /** Overrides the log that `log_level` configures. */
  readonly log?: Log;
  readonly clock?: Clock;
  /** Overrides the URL of our client ID metadata documents, for tests without an https address. */
  readonly clientDocumentUrl?: string;
  /** Name of this worker, one of several. A worker has no admin listener. */
  readonly worker?: string;
}
