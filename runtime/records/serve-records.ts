/**
 * The work of the records thread: accepts batches of entries, chains them if there is an audit, writes the log, and
 * passes copies to the queue of the consumers.
 *
 * It has no bound of its own for pending entries: the sender waits until they are written.
 */
import type { MessagePort } from "node:worker_threads";

import { AUDIT_KEY_NAME } from "../audit/chain/checkpoint.ts";
import { startChain } from "../audit/chain/chain.ts";
import { createNoteSigner } from "../audit/chain/signed-note.ts";
import { copyOf } from "../audit/copy.ts";
import { type EntryTaker, takeEntries } from "../audit/entries.ts";
import { formatOutcome } from "../audit/outcome-record.ts";
import type { RecordConsumers, RecordCopy } from "../audit/record-consumer.ts";
import { createRecordWriter, type LineWriter } from "../audit/record-writer.ts";
import { createRedactor, type Redactor } from "../audit/redaction/redactor.ts";
import { within, type Clock } from "../shared/clock.ts";
import { errorText, type GatewayError } from "../shared/errors.ts";
import { send } from "../shared/thread.ts";
import { VERSION } from "../shared/version.ts";
import type { FromRecordThread, RecordThreadSettings, ToRecordThread } from "./records-protocol.ts";

const STATE_EVERY_MS = 1_000;
/** Entries arrive already batched. */
const BATCH_MS = 1;

type Port = Pick<MessagePort, "postMessage" | "on" | "off">;
type Entries = Extract<ToRecordThread, { readonly type: "entries" }>;

export interface ServeRecordsDeps {
  /** Undefined: there are no copies. */
  readonly consumers: RecordConsumers | undefined;
  readonly clock: Clock;
}

/** @throws GatewayError `record.open` */
export function serveRecords(port: Port, settings: RecordThreadSettings, deps: ServeRecordsDeps): void {
  new RecordServer(port, settings, deps).start();
}

class RecordServer implements EntryTaker {
  readonly #port: Port;
  readonly #settings: RecordThreadSettings;
  readonly #consumers: RecordConsumers | undefined;
  readonly #writer: LineWriter;
  readonly #chain: ReturnType<typeof startChain> | undefined;
  readonly #redactor: Redactor | undefined;
  readonly #chunks = new Map<number, Buffer>();
  /** The operator's. */
  readonly #log = {
    error: (fields: object, message: string) => this.#tell({ type: "log", level: "error", fields, message }),
  };
  /** The authorization log, now. */
  #isFailing = false;
  #saidKeep = true;
  #note: string | undefined;
  #nextSeq = 0;
  #copies: RecordCopy[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(port: Port, settings: RecordThreadSettings, { consumers, clock }: ServeRecordsDeps) {
    const { instance, audit, destination, closeTimeoutMs, redaction } = settings;
    this.#port = port;
    this.#settings = settings;
    this.#consumers = consumers;
    this.#writer = createRecordWriter({
      destination,
      closeTimeoutMs,
      batchMs: BATCH_MS,
      onError: ({ code, message }: GatewayError, queued) => {
        this.#isFailing = true;
        this.#tell({ type: "error", code, message, queued });
        this.#tellChange();
      },
    });
    this.#chain =
      audit &&
      startChain({
        instance,
        signer: createNoteSigner(AUDIT_KEY_NAME, audit.seed),
        clock,
        seen: audit.seen,
        version: VERSION,
        write: (line) => void this.#writer.writeBytes(line),
        onCheckpoint: (signed) => (this.#note = signed),
      });
    this.#redactor = redaction && createRedactor(redaction);
  }

  start(): void {
    if (this.#consumers) {
      this.#timer = setInterval(() => this.#tellState(), STATE_EVERY_MS);
      this.#tellState();
    }
    this.#port.on("message", this.#onMessage);
    this.#tell({ type: "ready" });
  }

  line(line: Buffer, extra: Buffer | undefined): void {
    this.#take(line, extra, true);
  }

  outcome(outcome: Parameters<EntryTaker["outcome"]>[0]): void {
    // Not without audit: that leaves the log unchanged.
    this.#take(Buffer.from(formatOutcome(outcome)), undefined, this.#chain !== undefined);
  }

  checkpoint(): void {
    this.#chain?.checkpoint();
  }

  #tell(message: FromRecordThread): void {
    send(this.#port, message);
  }

  #take(line: Buffer, extra: Buffer | undefined, isLogged: boolean): void {
    if (!this.#chain && isLogged) void this.#writer.writeBytes(line);
    const seq = this.#chain ? this.#chain.add(line) : this.#nextSeq++;
    if (this.#redactor) this.#copies.push(this.#readCopy(line, extra, seq, this.#redactor));
  }

  #readCopy(line: Buffer, extra: Buffer | undefined, seq: number, redactor: Redactor): RecordCopy {
    const { instance } = this.#settings;
    try {
      return copyOf(line, extra, { instance, seq }, redactor);
    } catch (error) {
      // Its lines are our own; should one still be broken, the others continue.
      this.#log.error({ seq, reason: errorText(error) }, "cannot copy record");
      return { value: { level: "error", message: "unreadable record", instance, seq } };
    }
  }

  async #write({ chunk, memory, length }: Entries): Promise<void> {
    if (memory) this.#chunks.set(chunk, Buffer.from(memory));
    takeEntries((this.#chunks.get(chunk) as Buffer).subarray(0, length), this);
    const [taken, note] = [this.#copies, this.#note];
    this.#copies = [];
    this.#note = undefined;
    const flushed = this.#writer.flush();
    if (taken.length > 0) this.#consumers?.take(taken);
    try {
      await flushed;
    } catch {
      // Reported as lost, at the end.
      return;
    }
    this.#isFailing = false;
    this.#tell({ type: "written", chunk, length, note });
    this.#tellChange();
  }

  async #flush(id: number): Promise<void> {
    const results = await Promise.allSettled([this.#writer.flush(), this.#consumers?.flush()]);
    this.#tell({ type: "flushed", id, isLost: results.some(({ status }) => status === "rejected") });
  }

  #reopen(): void {
    try {
      this.#writer.reopen();
    } catch (error) {
      const { code, message } = error as GatewayError;
      this.#tell({ type: "error", code, message, queued: 0 });
    }
  }

  get #canKeep(): boolean {
    return !this.#isFailing && this.#consumers?.canKeep !== false;
  }

  /** Reported immediately, since requests must be denied then. */
  #tellChange(): void {
    if (this.#canKeep !== this.#saidKeep) this.#tellState();
  }

  #tellState(): void {
    this.#saidKeep = this.#canKeep;
    const consumers = this.#consumers?.status() ?? [];
    this.#tell({ type: "state", state: { canKeep: this.#saidKeep, consumers } });
  }

  async #close(): Promise<void> {
    const { closeTimeoutMs } = this.#settings;
    clearInterval(this.#timer);
    this.#port.off("message", this.#onMessage);
    this.#chain?.end();
    const note = this.#note;
    await this.#writer.close();
    await Promise.allSettled([within(closeTimeoutMs, this.#consumers?.close() ?? Promise.resolve(), () => undefined)]);
    this.#tell({ type: "closed", note: this.#isFailing ? undefined : note });
  }

  readonly #onMessage = (message: ToRecordThread): void => {
    switch (message.type) {
      case "entries":
        void this.#write(message);
        break;
      case "arguments":
        this.#redactor?.setRoutes(message.declared);
        break;
      case "forget":
        this.#chunks.delete(message.chunk);
        break;
      case "flush":
        void this.#flush(message.id);
        break;
      case "reopen":
        this.#reopen();
        break;
      default:
        void this.#close();
    }
  };
}
