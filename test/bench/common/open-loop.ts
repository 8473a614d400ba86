/**
 * Requests that become due at a fixed rate, whatever becomes of those before. What an answer took counts from when its request
 * was due, not from when a connection was free to send it: a client that waits for a slow answer before it asks again would omit
 * all requests that were due meanwhile (coordinated omission). Knows no socket and no clock.
 */
export interface OpenLoopOptions<Connection> {
  readonly ratePerSecond: number;
  /** Milliseconds on the caller's clock. */
  readonly startMs: number;
  readonly endMs: number;
  readonly send: (connection: Connection) => void;
  /** A request is due and no connection is free: opens another one, or does nothing. */
  readonly grow?: () => void;
}

export class OpenLoop<Connection> {
  readonly #options: OpenLoopOptions<Connection>;
  readonly #idle: Connection[] = [];
  readonly #waiting: number[] = [];
  readonly #busy = new Map<Connection, number>();
  #count = 0;
  #nextWaiting = 0;
  /** Milliseconds from when each was due to its answer. */
  readonly latencies: number[] = [];
  /** Of those that found a free connection: how much too late they were sent, which is this program's fault. */
  readonly lateness: number[] = [];
  /** Of requests without the right answer, how many by its status, or by why there is none. */
  readonly failures: Record<string, number> = {};

  constructor(options: OpenLoopOptions<Connection>) {
    this.#options = options;
  }

  get errors(): number {
    return Object.values(this.failures).reduce((sum, count) => sum + count, 0);
  }

  /** Sends what has become due. @returns when the next one is due */
  tick(nowMs: number): number {
    const { startMs, endMs, ratePerSecond, grow } = this.#options;
    for (;;) {
      // Not by adding up: the error would grow.
      const dueMs = startMs + (this.#count * 1000) / ratePerSecond;
      if (dueMs > nowMs || dueMs >= endMs) return dueMs;
      this.#count += 1;
      if (this.#idle.length > 0) this.lateness.push(nowMs - dueMs);
      else grow?.();
      this.#waiting.push(dueMs);
      this.#sendWaiting();
    }
  }

  /** A connection is there, or there again after what became of its request was told. */
  free(connection: Connection): void {
    this.#idle.push(connection);
    this.#sendWaiting();
  }

  /** @param failure why the answer is not the right one */
  answered(connection: Connection, nowMs: number, failure?: string): void {
    const dueMs = this.#busy.get(connection);
    this.#busy.delete(connection);
    if (dueMs === undefined || failure !== undefined) this.#fail(failure ?? "unasked");
    else this.latencies.push(nowMs - dueMs);
  }

  lost(connection: Connection): void {
    if (this.#busy.delete(connection)) this.#fail("closed");
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  get isDone(): boolean {
    return this.#busy.size === 0 && !this.isWaiting;
  }

  /** For a connection. */
  get isWaiting(): boolean {
    return this.#nextWaiting < this.#waiting.length;
  }

  /** Requests that were due before are failures. @returns the connections of sent ones, which are of no use */
  expire(dueBeforeMs: number): readonly Connection[] {
    const late: Connection[] = [];
    // In the order in which they were due.
    for (const [connection, dueMs] of this.#busy) {
      if (dueMs >= dueBeforeMs) break;
      late.push(connection);
    }
    for (const connection of late) {
      this.#busy.delete(connection);
      this.#fail("timeout");
    }
    for (; (this.#waiting[this.#nextWaiting] ?? Infinity) < dueBeforeMs; this.#nextWaiting += 1) this.#fail("timeout");
    return late;
  }

  /** Nobody waits any longer: what has no answer yet took at least until now. */
  giveUp(nowMs: number): void {
    const open = [...this.#busy.values(), ...this.#waiting.slice(this.#nextWaiting)];
    for (const dueMs of open) this.latencies.push(nowMs - dueMs);
    this.#busy.clear();
    this.#nextWaiting = this.#waiting.length;
  }

  #fail(reason: string): void {
    this.failures[reason] = (this.failures[reason] ?? 0) + 1;
  }

  #sendWaiting(): void {
    while (this.#nextWaiting < this.#waiting.length) {
      const connection = this.#idle.shift();
      if (connection === undefined) return;
      this.#busy.set(connection, this.#waiting[this.#nextWaiting] as number);
      this.#nextWaiting += 1;
      this.#options.send(connection);
    }
  }
}
