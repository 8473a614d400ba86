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
  readonly kept?: PreviousSliceStore | undefined;
  /** Keys to seal them with: 32 bytes each, current first. */
  readonly keptKeys?: readonly Uint8Array[];
  /** Pause after the last change of a file before it is read. */
  readonly quietMs?: number;
  /** Longest time a change stays unnoticed where the file system tells nothing. */
  readonly pollEveryMs?: number;
  /** Called when another configuration was put in force, or refused. */
  readonly onReload?: ((reload: { readonly ok: boolean; readonly tookMs: number }) => void) | undefined;
}

/** @throws GatewayError `config.invalid` with every problem, one a line */
export async function openBundle(deps: BundleDeps): Promise<Bundle> {
  const bundle = new Bundle(deps, (await deps.kept?.read()) ?? []);
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
  #inForce = 0;
  #isStoreAway = false;
  #isKeptAway = false;
  /** What was found last is not in force, for whatever the boot file has. */
  #isRefused = false;
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
  /** What would be wrong if these slices were published. */
  readonly validate: ValidateCandidates;

  constructor(deps: BundleDeps, kept: readonly SealedSlice[]) {
    const { path, log, clock, keptKeys, ...times } = deps;
    super(log);
    this.#deps = deps;
    this.#env = deps.env ?? process.env;
    this.#validator = new Validator(path, { keptKeys, kept });
    this.#report = createReport({ log, clock });
    this.#boot = deps.boot;
    this.validate = createCandidateValidation(this.#validator, () => this.#secretDeps());
    const isOwnOutput = (file: string): boolean => this.#boot !== undefined && isWrittenBy(this.#boot.settings, file);
    this.#watch = createWatch({ ...times, log, isOwnOutput, onHint: () => void this.reload() });
    this.#unfollow = deps.published?.onChange(() => void this.reload());
  }

  async open(): Promise<void> {
    // Through the queue, like every later look: the poll may already ask for the next one.
    await this.reload();
    if (this.#current && this.#boot) return;
    // Before the end, which a look that is under way reports, too.
    const problems = this.#report.status(undefined).lastError?.problems ?? [];
    await this.close();
    throw new GatewayError("config.invalid", problems.join("\n"));
  }

  /** As they were at start; changes need a restart. */
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
      ...(this.#deps.published && { published: { generation: this.#slices.generation, inForce: this.#inForce } }),
      ...(this.#boot?.vault && { vault: this.#boot.vault.status() }),
    };
  }

  parse(text: string, owner: string): ReturnType<Validator["parse"]> {
    return this.#validator.parse(text, owner);
  }

  parseChanges(text: string, asker?: string): ReturnType<Validator["parseChanges"]> {
    return this.#validator.parseChanges(text, asker);
  }

  /** Looks at files and slices now. Resolves when what is there has been put in force or refused; never rejects. */
  reload(): Promise<void> {
    // One look at a time; a call during a look gets one that begins after it. One that fails is followed by others.
    return (this.#queued ??= this.#running.then(() => {
      this.#queued = undefined;
      return (this.#running = this.#look().catch((error: unknown) =>
        tellFault({ scope: "task", what: "the reload", error }),
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

  async #look(): Promise<void> {
    if (this.#closed) return;
    const startedMs = performance.now();
    const before = this.#report.status(this.#current).reloads;
    try {
      await this.#load();
    } catch (error) {
      // close() ends the thread that validates: the process stops, and the configuration is not at fault.
      if (!this.#closed) this.#report.failed([this.#problemOf(error)]);
    }
    if (this.#closed) return;
    const after = this.#report.status(this.#current).reloads;
    if (after.ok !== before.ok || after.failed !== before.failed)
      this.#deps.onReload?.({ ok: after.ok !== before.ok, tookMs: performance.now() - startedMs });
    this.tellReport();
    if (this.#isKeptAway) await this.#writeKept({ changed: [], removed: [] });
    const secretsIn = await secretDirectories([...(this.#checked?.needs.refs ?? []), ...this.#refused.refs()]);
    await this.#watch.follow(new Set([...this.#directories, ...secretsIn]));
  }

  async #load(): Promise<void> {
    const { path, log } = this.#deps;
    const startedMs = performance.now();
    await this.#readPublished();
    await this.#refused.review(this.#secretDeps());
    let news: Exclude<Validation, { readonly kind: "unchanged" }> | undefined;
    for (;;) {
      const found = await this.#validator.load(publishedSources(this.#slices.slices), this.#refused.current());
      if (found.kind !== "unchanged") {
        this.#directories = found.directories;
        this.#checked = found.kind === "good" ? found : undefined;
        this.#fingerprint = undefined;
        news = found;
      }
      const checked = this.#checked;
      // Unchanged files that were bad are still bad, and have been reported.
      if (!checked) {
        if (news) this.#report.found(news);
        return;
      }
      this.#boot ??= await resolveBoot(checked.boot, { env: this.#env, starts: true });
      this.#unfollowVault ??= await followVault(this.#boot, checked.needs.refs, () => void this.reload(), log);
      const secrets = await readSecrets(checked.needs, this.#secretDeps());
      if (secrets.fingerprint === this.#fingerprint) {
        // Slices that went there and back between two looks are a later generation of the same.
        if (!this.#isRefused) this.#inForce = this.#slices.generation;
        return;
      }
      this.#fingerprint = secrets.fingerprint;
      const { settings, certificates, slices: files, boot: bootDoc } = checked;
      const fileOf = (owner: string): string => files.find((slice) => slice.owner === owner)?.file ?? path;
      const holdsOwnersApart = bootDoc.owners !== undefined;
      const input = { settings, certificates, holdsOwnersApart, routes: this.#validator.routes(), secrets, fileOf };
      const outcome = await buildSnapshot(input, this.#build);
      // The owners of what cannot be compiled give way; of the boot file nobody can.
      if (!outcome.ok && (await this.#refused.add(outcome.failures, this.#secretDeps()))) continue;
      if (news) this.#report.found(news);
      this.#isRefused = !outcome.ok;
      if (outcome.ok) await this.#swap(outcome, checked.digest, startedMs);
      else this.#report.failed(outcome.problems);
      this.#report.restartNeeded(canonicalJson(checked.boot) !== canonicalJson(this.#boot.doc));
      this.#refused.keepOf(this.#report.status(this.#current).degraded.map(({ owner }) => owner));
      return;
    }
  }

  #secretDeps(): SecretDeps {
    return { env: this.#env, sealing: this.#boot?.sealing, vault: this.#boot?.vault };
  }

  /** While the store is away, the slices last read stay; without any there is nothing to start with. */
  async #readPublished(): Promise<void> {
    const { log, published } = this.#deps;
    try {
      if (published) this.#slices = await published.read();
      this.#isStoreAway = false;
    } catch (error) {
      if (!this.#current) throw error;
      if (!this.#isStoreAway)
        log.warn({ reason: errorText(error) }, "cannot read published slices, previous ones stay active");
      this.#isStoreAway = true;
    }
  }

  async #swap({ build: next, stale }: GoodBuild, digest: string, startedMs: number): Promise<void> {
    if (this.#closed) return;
    this.#build = next;
    const previous = this.#current;
    if (previous && next.unchanged) {
      this.#inForce = this.#slices.generation;
      this.#report.recovered(stale);
      return this.#keep();
    }
    const { settings, routes, holdsOwnersApart } = next;
    const certificates = [...next.certificates.values()].map(({ certificate }) => certificate);
    const generation = (previous?.generation ?? 0) + 1;
    const snapshot: Snapshot = { digest, generation, settings, certificates, routes, holdsOwnersApart };
    await this.prepareFor(snapshot);
    if (this.#closed) return;
    this.#inForce = this.#slices.generation;
    this.#current = snapshot;
    this.#report.loaded(snapshot, stale, performance.now() - startedMs);
    if (previous) this.tellSwap(snapshot, previous);
    await this.#keep();
  }

  /** For the day on which somebody's next slice is bad. */
  async #keep(): Promise<void> {
    if (!this.#closed) await this.#writeKept(await this.#validator.inForce(this.#deps.clock.now()));
  }

  async #writeKept(changes: PreviousSliceChanges): Promise<void> {
    const { log, kept } = this.#deps;
    try {
      await kept?.write(changes);
      if (this.#isKeptAway) log.info("saving of active slices recovered");
      this.#isKeptAway = false;
    } catch (error) {
      // What could not be written goes with the next changes, or at the next look.
      if (!this.#isKeptAway) log.warn({ reason: errorText(error) }, "cannot save active slices for the next start");
      this.#isKeptAway = true;
    }
  }

  #problemOf(error: unknown): Problem {
    if (!(error instanceof GatewayError)) this.#deps.log.error({ err: error }, "configuration reload failed");
    return { severity: "error", file: this.#deps.path, path: [], message: errorText(error) };
  }
}
