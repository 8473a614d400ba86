/**
 * The configuration in force: loads it at start, follows its files and what is published, and swaps one immutable
 * snapshot for the next.
 *
 * Untrusted input: files and slices; they are written by others. Promises: a snapshot comes from what belongs together;
 * whatever is wrong with an owner's change (unreadable, invalid, conflicting, a missing secret) leaves that owner with the
 * last good one and the others alone, what is wrong with the boot file leaves the last good snapshot in force, and both
 * are reported in the log and the status; listeners see each snapshot once, in order.
 */
import { followVault, isWrittenBy, resolveBoot, type Boot } from "./boot.ts";
import type { JWK } from "jose";
import type { BootSettings } from "../config/compiled.ts";
import type { Snapshot, Snapshots } from "../config/snapshot.ts";
import type { Problem } from "../config/load.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { tellFault } from "../shared/faults/faults.ts";
import type { Log } from "../shared/log.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { buildSnapshot, type GoodBuild } from "./build/build.ts";
import {
  createCandidateValidation,
  publishedSources,
  type ValidateCandidates,
} from "./validation/validate-candidates.ts";
import type { KeptStore } from "./kept-store.ts";
import type { PublishedSlices, PublishedState } from "./published.ts";
import { createRefused } from "./refused.ts";
import type { KeptChanges } from "./validation/protocol.ts";
import { createReport, type BundleStatus } from "./report.ts";
import { readSecrets, type SecretDeps, secretDirectories } from "./secrets.ts";
import { createValidator, type Validation, type Validator } from "./validation/validator.ts";
import { createWatch } from "./watch.ts";
import type { Build } from "./build/build-types.ts";

export interface BundleDeps {
  /** A configuration file, or a directory of one boot file and slices. */
  readonly path: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Boot settings, when they were read already. */
  readonly boot?: Boot;
  /** Slices published beside the files. */
  readonly published?: PublishedSlices;
  /** Slices last in force, over restarts; absent: for as long as this process lives. */
  readonly kept?: KeptStore | undefined;
  /** Keys to seal them with: 32 bytes each, current first. */
  readonly keptKeys?: readonly Uint8Array[];
  /** Pause after the last change of a file before it is read. */
  readonly quietMs?: number;
  /** Longest time a change stays unnoticed where the file system tells nothing. */
  readonly pollEveryMs?: number;
  /** Called when another configuration was put in force, or refused. */
  readonly onReload?: ((reload: { readonly ok: boolean; readonly tookMs: number }) => void) | undefined;
}

export interface Bundle extends Snapshots, Closable, Pick<Validator, "parse" | "parseChanges"> {
  /** As they were at start; changes need a restart. */
  readonly boot: BootSettings;
  /** Public key to which secrets are sealed for this gateway; absent without `shared_secret`. */
  readonly sealKey: JWK | undefined;
  status(): BundleStatus;
  /** Looks at files and slices now. Resolves when what is there has been put in force or refused; never rejects. */
  reload(): Promise<void>;
  /** What would be wrong if these slices were published. */
  readonly validate: ValidateCandidates;
  /** Calls back after each look at files and slices, whatever came of it. @returns unsubscribe */
  onReport(listener: () => void): () => void;
}

/** @throws GatewayError `config.invalid` with every problem, one a line */
export async function openBundle(deps: BundleDeps): Promise<Bundle> {
  const { path, log, clock, env = process.env, published, kept, keptKeys, boot: givenBoot, ...times } = deps;
  const validator = createValidator(path, { keptKeys, kept: (await kept?.read()) ?? [] });
  const refused = createRefused();
  const report = createReport({ log, clock });
  const listeners = new Set<(next: Snapshot, previous: Snapshot) => void>();
  const reportListeners = new Set<() => void>();
  const preparations = new Set<(next: Snapshot) => Promise<void>>();
  let boot = givenBoot;
  let unfollowVault: (() => void) | undefined;
  let slices: PublishedState = { generation: 0, slices: [] };
  /** Generation of the slices that are in the current snapshot. */
  let inForce = 0;
  let isStoreAway = false;
  let isKeptAway = false;
  /** What was found last is not in force, for whatever the boot file has. */
  let isRefused = false;
  let checked: Extract<Validation, { readonly kind: "good" }> | undefined;
  let directories: readonly string[] = [];
  let fingerprint: string | undefined;
  let build: Build | undefined;
  let current: Snapshot | undefined;
  let running = Promise.resolve();
  let queued: Promise<void> | undefined;
  let closed = false;
  const isOwnOutput = (file: string): boolean => boot !== undefined && isWrittenBy(boot.settings, file);
  const watch = createWatch({ ...times, log, isOwnOutput, onHint: () => void reload() });
  const unfollow = published?.onChange(() => void reload());
  // Through the queue, like every later look: the poll may already ask for the next one.
  await reload();
  if (!current || !boot) {
    // Before the end, which a look that is under way reports, too.
    const problems = report.status(undefined).lastError?.problems ?? [];
    await close();
    throw new GatewayError("config.invalid", problems.join("\n"));
  }

  return {
    boot: boot.settings,
    sealKey: boot.sealing?.publicJwk,
    current: () => current as Snapshot,
    subscribe(listener) {
      // A wrapper of its own: the same function subscribed twice is two subscriptions.
      const entry: typeof listener = (next, previous) => listener(next, previous);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    prepare(work) {
      preparations.add(work);
      return () => void preparations.delete(work);
    },
    status: () => ({
      ...report.status(current),
      ...(published && { published: { generation: slices.generation, inForce } }),
      ...(boot?.vault && { vault: boot.vault.status() }),
    }),
    reload,
    validate: createCandidateValidation(validator, secretDeps),
    parse: (text, owner) => validator.parse(text, owner),
    parseChanges: (text, asker) => validator.parseChanges(text, asker),
    onReport(listener) {
      const entry = (): void => listener();
      reportListeners.add(entry);
      return () => void reportListeners.delete(entry);
    },
    close,
  };

  function reload(): Promise<void> {
    // One look at a time; a call during a look gets one that begins after it. One that fails is followed by others.
    return (queued ??= running.then(() => {
      queued = undefined;
      return (running = look().catch((error: unknown) => tellFault({ scope: "task", what: "the reload", error })));
    }));
  }

  async function look(): Promise<void> {
    if (closed) return;
    const startedMs = performance.now();
    const before = report.status(current).reloads;
    try {
      await load();
    } catch (error) {
      report.failed([problemOf(error)]);
    }
    if (closed) return;
    const after = report.status(current).reloads;
    if (after.ok !== before.ok || after.failed !== before.failed)
      deps.onReload?.({ ok: after.ok !== before.ok, tookMs: performance.now() - startedMs });
    for (const listener of reportListeners) listener();
    if (isKeptAway) await writeKept({ changed: [], removed: [] });
    const secretsIn = await secretDirectories([...(checked?.needs.refs ?? []), ...refused.refs()]);
    await watch.follow(new Set([...directories, ...secretsIn]));
  }

  async function load(): Promise<void> {
    const startedMs = performance.now();
    await readPublished();
    await refused.review(secretDeps());
    let news: Exclude<Validation, { readonly kind: "unchanged" }> | undefined;
    for (;;) {
      const found = await validator.load(publishedSources(slices.slices), refused.current());
      if (found.kind !== "unchanged") {
        ({ directories } = found);
        checked = found.kind === "good" ? found : undefined;
        fingerprint = undefined;
        news = found;
      }
      // Unchanged files that were bad are still bad, and have been reported.
      if (!checked) {
        if (news) report.found(news);
        return;
      }
      boot ??= await resolveBoot(checked.boot, { env, starts: true });
      unfollowVault ??= await followVault(boot, checked.needs.refs, () => void reload(), log);
      const secrets = await readSecrets(checked.needs, secretDeps());
      if (secrets.fingerprint === fingerprint) {
        // Slices that went there and back between two looks are a later generation of the same.
        if (!isRefused) inForce = slices.generation;
        return;
      }
      fingerprint = secrets.fingerprint;
      const { settings, certificates, slices: files, boot: bootDoc } = checked;
      const fileOf = (owner: string): string => files.find((slice) => slice.owner === owner)?.file ?? path;
      const holdsOwnersApart = bootDoc.owners !== undefined;
      const input = { settings, certificates, holdsOwnersApart, routes: validator.routes(), secrets, fileOf };
      const outcome = await buildSnapshot(input, build);
      // The owners of what cannot be compiled give way; of the boot file nobody can.
      if (!outcome.ok && (await refused.add(outcome.failures, secretDeps()))) continue;
      if (news) report.found(news);
      isRefused = !outcome.ok;
      if (outcome.ok) await swap(outcome, checked.digest, startedMs);
      else report.failed(outcome.problems);
      report.restartNeeded(canonicalJson(checked.boot) !== canonicalJson(boot.doc));
      refused.keepOf(report.status(current).degraded.map(({ owner }) => owner));
      return;
    }
  }

  function secretDeps(): SecretDeps {
    return { env, sealing: boot?.sealing, vault: boot?.vault };
  }

  /** While the store is away, the slices last read stay; without any there is nothing to start with. */
  async function readPublished(): Promise<void> {
    try {
      if (published) slices = await published.read();
      isStoreAway = false;
    } catch (error) {
      if (!current) throw error;
      if (!isStoreAway) log.warn({ reason: errorText(error) }, "published slices cannot be read, the last ones stay");
      isStoreAway = true;
    }
  }

  async function swap({ build: next, stale }: GoodBuild, digest: string, startedMs: number): Promise<void> {
    if (closed) return;
    build = next;
    const previous = current;
    if (previous && next.unchanged) {
      inForce = slices.generation;
      report.recovered(stale);
      return keep();
    }
    const { settings, routes, holdsOwnersApart } = next;
    const certificates = [...next.certificates.values()].map(({ certificate }) => certificate);
    const generation = (previous?.generation ?? 0) + 1;
    const snapshot: Snapshot = { digest, generation, settings, certificates, routes, holdsOwnersApart };
    for (const work of preparations) {
      try {
        await work(snapshot);
      } catch (error) {
        // It only makes the change slower.
        log.error({ err: error }, "a configuration change could not be prepared");
      }
    }
    if (closed) return;
    inForce = slices.generation;
    current = snapshot;
    report.loaded(current, stale, performance.now() - startedMs);
    if (previous) tellListeners(current, previous);
    await keep();
  }

  /** For the day on which somebody's next slice is bad. */
  async function keep(): Promise<void> {
    if (!closed) await writeKept(await validator.inForce(clock.now()));
  }

  async function writeKept(changes: KeptChanges): Promise<void> {
    try {
      await kept?.write(changes);
      if (isKeptAway) log.info("the slices in force are kept again");
      isKeptAway = false;
    } catch (error) {
      // What could not be written goes with the next changes, or at the next look.
      if (!isKeptAway) log.warn({ reason: errorText(error) }, "the slices in force are not kept over a restart");
      isKeptAway = true;
    }
  }

  function tellListeners(next: Snapshot, previous: Snapshot): void {
    for (const listener of listeners) {
      try {
        listener(next, previous);
      } catch (error) {
        // One listener's bug must not keep the others on the old snapshot.
        log.error({ err: error }, "listener of configuration changes failed");
      }
    }
  }

  function problemOf(error: unknown): Problem {
    if (!(error instanceof GatewayError)) log.error({ err: error }, "configuration reload failed");
    return { severity: "error", file: path, path: [], message: errorText(error) };
  }

  async function close(): Promise<void> {
    closed = true;
    watch.close();
    unfollow?.();
    unfollowVault?.();
    if (boot !== givenBoot) await boot?.vault?.close();
    await validator.close();
    await running;
  }
}
