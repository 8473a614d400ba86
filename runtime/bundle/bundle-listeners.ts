/** Listeners for new snapshots and for checks of the configuration. */
import type { Snapshot } from "../config/snapshot.ts";
import type { Log } from "../shared/log.ts";

type SwapListener = (next: Snapshot, previous: Snapshot) => void;
type Preparation = (next: Snapshot) => Promise<void>;

export class BundleListeners {
  readonly #log: Log;
  readonly #swaps = new Set<SwapListener>();
  readonly #reports = new Set<() => void>();
  readonly #preparations = new Set<Preparation>();

  constructor(log: Log) {
    this.#log = log;
  }

  subscribe(listener: SwapListener): () => void {
    // A separate wrapper: the same function subscribed twice is two subscriptions.
    const entry: SwapListener = (next, previous) => listener(next, previous);
    this.#swaps.add(entry);
    return () => void this.#swaps.delete(entry);
  }

  prepare(work: Preparation): () => void {
    this.#preparations.add(work);
    return () => void this.#preparations.delete(work);
  }

  /** Calls back after each check of files and slices, whatever the result. @returns unsubscribe */
  onReport(listener: () => void): () => void {
    const entry = (): void => listener();
    this.#reports.add(entry);
    return () => void this.#reports.delete(entry);
  }

  protected async prepareFor(snapshot: Snapshot): Promise<void> {
    for (const work of this.#preparations) {
      try {
        await work(snapshot);
      } catch (error) {
        // A failed preparation only makes the change slower.
        this.#log.error({ err: error }, "cannot prepare configuration change");
      }
    }
  }

  protected tellSwap(next: Snapshot, previous: Snapshot): void {
    for (const listener of this.#swaps) {
      try {
        listener(next, previous);
      } catch (error) {
        // One listener's bug must not keep the others on the old snapshot.
        this.#log.error({ err: error }, "configuration change listener failed");
      }
    }
  }

  protected tellReport(): void {
    for (const listener of this.#reports) listener();
  }
}
