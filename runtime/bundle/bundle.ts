/**
 * The active configuration: loads it at start, follows its files and published slices, and replaces one immutable
 * snapshot with the next.
 *
 * Untrusted input: files and slices, written by others. Promises: a snapshot comes from sources that belong together.
 * If an owner's change is wrong (unreadable, invalid, conflicting, a missing secret), that owner keeps the previous
 * valid version and other owners are not affected. If the main configuration file is wrong, the whole previous snapshot
 * stays active. Log and status report both. Listeners see each snapshot once, in order.
 */
import { followVault, isWrittenBy, resolveBoot, type Boot } from "./boot.ts";
import type { JWK } from "jose";
import type { BootSettings } from "../config/compiled.ts";
import type { Snapshot, Snapshots } from "../config/snapshot.ts";
import type { Problem } from "../config/load.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { reportFault } from "../shared/faults/faults.ts";
import type { Log } from "../shared/log.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { buildSnapshot, type GoodBuild } from "./build/build.ts";
import {
  createCandidateValidation,
  publishedSources,
  type ValidateCandidates,
} from "./validation/validate-candidates.ts";
import { BundleListeners } from "./bundle-listeners.ts";
import type { PreviousSliceStore } from "./previous-slice-store.ts";
import type { PublishedSlices, PublishedState } from "./published.ts";
import { createRefused } from "./refused.ts";
import type { PreviousSliceChanges, SealedSlice } from "./validation/protocol.ts";
import { createReport, type BundleStatus, type BundleReport } from "./report.ts";
import { readSecrets, type SecretDeps, secretDirectories } from "./secrets.ts";
import { type Validation, Validator } from "./validation/validator.ts";
import { createWatch, type Watch } from "./watch.ts";
import type { Build } from "./build/build-types.ts";

export interface BundleDeps {
  /** A configuration file, or a directory with one main configuration file and slices. */
  readonly path: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Static settings, if already read. */
  readonly boot?: Boot;
  /** Published slices, in addition to the files. */
  readonly published?: PublishedSlices;
  /** Previous slices, kept over restarts; absent: kept in memory only. */
  readonly previousSlices?: PreviousSliceStore | undefined;
  /** Keys that seal them: 32 bytes each, current first. */
  readonly sealKeys?: readonly Uint8Array[];
  /** Quiet period after a file's last change before it is read. */
  readonly quietMs?: number;
  /** Poll interval, for file systems without notifications. */
  readonly pollEveryMs?: number;
  /** Called after another configuration was activated or rejected. */
  readonly onReload?: ((reload: { readonly ok: boolean; readonly tookMs: number }) => void) | undefined;
}

/** @throws GatewayError `config.invalid` with every problem, one a line */
export async function openBundle(deps: BundleDeps): Promise<Bundle> {
  const bundle = new Bundle(deps, (await deps.previousSlices?.read()) ?? []);
  await bundle.open();
  return bundle;
}

export class Bundle extends BundleListeners implements Snapshots, Closable {
  readonly #deps: BundleDeps;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #validator: Validator;
  readonly #refused = createRefused();
  readonly #report: BundleReport;
  #boot: Boot | undefined;
  #unfollowVault: (() => void) | undefined;
  #slices: PublishedState = { generation: 0, slices: [] };
  /** Generation of the slices that are in the current snapshot. */
  #activeGeneration = 0;
  #isStoreUnavailable = false;
  #hasSaveFailed = false;
  /** The latest version was rejected because of the main configuration file. */
  #isRejected = false;
  #checked: Extract<Validation, { readonly kind: "good" }> | undefined;
  #directories: readonly string[] = [];
  #fingerprint: string | undefined;
  #build: Build | undefined;
  #current: Snapshot | undefined;
  #running = Promise.resolve();
  #queued: Promise<void> | undefined;
  #closed = false;
  readonly #watch: Watch;
  readonly #unfollow: (() => void) | undefined;
  /** Problems that publishing these slices would cause. */
  readonly validate: ValidateCandidates;

  constructor(deps: BundleDeps, kept: readonly SealedSlice[]) {
    const { path, log, clock, sealKeys, ...times } = deps;
    super(log);
    this.#deps = deps;
    this.#env = deps.env ?? process.env;
    this.#validator = new Validator(path, { sealKeys, kept });
    this.#report = createReport({ log, clock });
    this.#boot = deps.boot;
    this.validate = createCandidateValidation(this.#validator, () => this.#secretDeps());
    const isOwnOutput = (file: string): boolean => this.#boot !== undefined && isWrittenBy(this.#boot.settings, file);
    this.#watch = createWatch({ ...times, log, isOwnOutput, onHint: () => void this.reload() });
    this.#unfollow = deps.published?.onChange(() => void this.reload());
  }

  async open(): Promise<void> {
    // Through the queue, as all later checks: the poll may already request the next one.
    await this.reload();
    if (this.#current && this.#boot) return;
    // Before closing, because a check in flight also reports.
    const problems = this.#report.status(undefined).lastError?.problems ?? [];
    await this.close();
    throw new GatewayError("config.invalid", problems.join("\n"));
  }

  /** Values at start; changes need a restart. */
  get boot(): BootSettings {
    return (this.#boot as Boot).settings;
  }

  /** Public key to which secrets are sealed for this gateway; absent without `shared_secret`. */
  get sealKey(): JWK | undefined {
    return this.#boot?.sealing?.publicJwk;
  }

  current(): Snapshot {
    return this.#current as Snapshot;
  }

  status(): BundleStatus {
    return {
      ...this.#report.status(this.#current),
      ...(this.#deps.published && {
        published: { generation: this.#slices.generation, inForce: this.#activeGeneration },
      }),
      ...(this.#boot?.vault && { vault: this.#boot.vault.status() }),
    };
  }

  parse(text: string, owner: string): ReturnType<Validator["parse"]> {
    return this.#validator.parse(text, owner);
  }

  parseChanges(text: string, asker?: string): ReturnType<Validator["parseChanges"]> {
    return this.#validator.parseChanges(text, asker);
  }

  /** Checks files and slices now. Resolves when their current state was activated or rejected; never rejects. */
  reload(): Promise<void> {
    // One check at a time. A call during a check gets one that starts after it, also if the running one fails.
    return (this.#queued ??= this.#running.then(() => {
      this.#queued = undefined;
      return (this.#running = this.#check().catch((error: unknown) =>
        reportFault({ scope: "task", what: "the reload", error }),
      ));
    }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.close();
    this.#unfollow?.();
    this.#unfollowVault?.();
    if (this.#boot !== this.#deps.boot) await this.#boot?.vault?.close();
    await this.#validator.close();
    await this.#running;
  }

  async #check(): Promise<void> {
    if (this.#closed) return;
    const startedMs = performance.now();
    const before = this.#report.status(this.#current).reloads;
    try {
      await this.#load();
    } catch (error) {
      // close() ends the validation thread: the process is stopping, and the configuration is not the cause.
      if (!this.#closed) this.#report.failed([this.#problemOf(error)]);
    }
    if (this.#closed) return;
    const after = this.#report.status(this.#current).reloads;
    if (after.ok !== before.ok || after.failed !== before.failed)
      this.#deps.onReload?.({ ok: after.ok !== before.ok, tookMs: performance.now() - startedMs });
    this.tellReport();
    if (this.#hasSaveFailed) await this.#writeChanges({ changed: [], removed: [] });
    const secretsIn = await secretDirectories([...(this.#checked?.needs.refs ?? []), ...this.#refused.refs()]);
    await this.#watch.follow(new Set([...this.#directories, ...secretsIn]));
  }

  async #load(): Promise<void> {
    const { path, log } = this.#deps;
    const startedMs = performance.now();
    await this.#readPublished();
    await this.#refused.review(this.#secretDeps());
    let unreported: Exclude<Validation, { readonly kind: "unchanged" }> | undefined;
    for (;;) {
      const found = await this.#validator.load(publishedSources(this.#slices.slices), this.#refused.current());
      if (found.kind !== "unchanged") {
        this.#directories = found.directories;
        this.#checked = found.kind === "good" ? found : undefined;
        this.#fingerprint = undefined;
        unreported = found;
      }
      const checked = this.#checked;
      // Unchanged invalid files are still invalid, and were already reported.
      if (!checked) {
        if (unreported) this.#report.found(unreported);
        return;
      }
      this.#boot ??= await resolveBoot(checked.boot, { env: this.#env, starts: true });
      this.#unfollowVault ??= await followVault(this.#boot, checked.needs.refs, () => void this.reload(), log);
      const secrets = await readSecrets(checked.needs, this.#secretDeps());
      if (secrets.fingerprint === this.#fingerprint) {
        // Slices that changed and changed back between two checks have a later generation but the same content.
        if (!this.#isRejected) this.#activeGeneration = this.#slices.generation;
        return;
      }
      this.#fingerprint = secrets.fingerprint;
      const { settings, certificates, slices: files, boot: bootDoc } = checked;
      const fileOf = (owner: string): string => files.find((slice) => slice.owner === owner)?.file ?? path;
      const separatesOwners = bootDoc.owners !== undefined;
      const input = { settings, certificates, separatesOwners, routes: this.#validator.routes(), secrets, fileOf };
      const outcome = await buildSnapshot(input, this.#build);
      // Owners whose texts cannot be compiled get their previous version; for the main configuration file there is no
      // fallback.
      if (!outcome.ok && (await this.#refused.add(outcome.failures, this.#secretDeps()))) continue;
      if (unreported) this.#report.found(unreported);
      this.#isRejected = !outcome.ok;
      if (outcome.ok) await this.#swap(outcome, checked.digest, startedMs);
      else this.#report.failed(outcome.problems);
      this.#report.restartNeeded(canonicalJson(checked.boot) !== canonicalJson(this.#boot.doc));
      this.#refused.keepOnly(this.#report.status(this.#current).degraded.map(({ owner }) => owner));
      return;
    }
  }

  #secretDeps(): SecretDeps {
    return { env: this.#env, sealing: this.#boot?.sealing, vault: this.#boot?.vault };
  }

  /** If the store is unavailable, the slices last read stay; without any the process cannot start. */
  async #readPublished(): Promise<void> {
    const { log, published } = this.#deps;
    try {
      if (published) this.#slices = await published.read();
      this.#isStoreUnavailable = false;
    } catch (error) {
      if (!this.#current) throw error;
      if (!this.#isStoreUnavailable)
        log.warn({ reason: errorText(error) }, "cannot read published slices, previous ones stay active");
      this.#isStoreUnavailable = true;
    }
  }

  async #swap({ build: next, stale }: GoodBuild, digest: string, startedMs: number): Promise<void> {
    if (this.#closed) return;
    this.#build = next;
    const previous = this.#current;
    if (previous && next.unchanged) {
      this.#activeGeneration = this.#slices.generation;
      this.#report.recovered(stale);
      return this.#saveActive();
    }
    const { settings, routes, separatesOwners } = next;
    const certificates = [...next.certificates.values()].map(({ certificate }) => certificate);
    const generation = (previous?.generation ?? 0) + 1;
    const snapshot: Snapshot = { digest, generation, settings, certificates, routes, separatesOwners };
    await this.prepareFor(snapshot);
    if (this.#closed) return;
    this.#activeGeneration = this.#slices.generation;
    this.#current = snapshot;
    this.#report.loaded(snapshot, stale, performance.now() - startedMs);
    if (previous) this.tellSwap(snapshot, previous);
    await this.#saveActive();
  }

  /** Stores the active slices, as a fallback if an owner's next slice is invalid. */
  async #saveActive(): Promise<void> {
    if (!this.#closed) await this.#writeChanges(await this.#validator.inForce(this.#deps.clock.now()));
  }

  async #writeChanges(changes: PreviousSliceChanges): Promise<void> {
    const { log, previousSlices } = this.#deps;
    try {
      await previousSlices?.write(changes);
      if (this.#hasSaveFailed) log.info("saving of active slices recovered");
      this.#hasSaveFailed = false;
    } catch (error) {
      // A failed write is repeated with the next change or at the next check.
      if (!this.#hasSaveFailed) log.warn({ reason: errorText(error) }, "cannot save active slices for the next start");
      this.#hasSaveFailed = true;
    }
  }

  #problemOf(error: unknown): Problem {
    if (!(error instanceof GatewayError)) this.#deps.log.error({ err: error }, "configuration reload failed");
    return { severity: "error", file: this.#deps.path, path: [], message: errorText(error) };
  }
}
