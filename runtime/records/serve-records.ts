/**
 * The work of the records' thread: takes batches of entries, chains them where there is an audit, writes the log, and hands
 * copies to the consumers behind it.
 *
 * It keeps no bound of its own on what waits: who sends waits for what was written.
 */
import type { MessagePort } from "node:worker_threads";

import { AUDIT_KEY_NAME } from "../audit/chain/checkpoint.ts";
import { startChain } from "../audit/chain/chain.ts";
import { createNoteSigner } from "../audit/chain/signed-note.ts";
import { copyOf } from "../audit/copy.ts";
import { takeEntries } from "../audit/entries.ts";
import { formatOutcome } from "../audit/outcome-record.ts";
import { createRedactor, type Redactor } from "../audit/redaction/redactor.ts";
import type { RecordConsumer, RecordCopy } from "../audit/record-consumer.ts";
import { createRecordWriter } from "../audit/record-writer.ts";
import { within, type Clock } from "../shared/clock.ts";
import { errorText, type GatewayError } from "../shared/errors.ts";
import { send } from "../shared/thread.ts";
import { VERSION } from "../shared/version.ts";
import type { FromRecordThread, RecordThreadSettings, ToRecordThread } from "./records-protocol.ts";

const STATE_EVERY_MS = 1_000;
/** What comes is gathered already. */
const BATCH_MS = 1;

type Entries = Extract<ToRecordThread, { readonly type: "entries" }>;

/** @throws GatewayError `record.open` */
export function serveRecords(
  port: Pick<MessagePort, "postMessage" | "on" | "off">,
  settings: RecordThreadSettings,
  { consumers, clock }: { readonly consumers: readonly RecordConsumer[]; readonly clock: Clock },
): void {
  const { instance, audit, destination, closeTimeoutMs } = settings;
  const tell = (message: FromRecordThread): void => send(port, message);
  /** The operator's. */
  const log = {
    error: (fields: object, message: string) => tell({ type: "log", level: "error", fields, message }),
  };
  /** The authorization log, now. */
  let isFailing = false;
  const writer = createRecordWriter({
    destination,
    closeTimeoutMs,
    batchMs: BATCH_MS,
    onError({ code, message }: GatewayError, queued) {
      isFailing = true;
      tell({ type: "error", code, message, queued });
      tellChange();
    },
  });
  let note: string | undefined;
  const chain =
    audit &&
    startChain({
      instance,
      signer: createNoteSigner(AUDIT_KEY_NAME, audit.seed),
      clock,
      seen: audit.seen,
      version: VERSION,
      write: (line) => void writer.writeBytes(line),
      onCheckpoint: (signed) => (note = signed),
    });
  const redactor = settings.redaction && createRedactor(settings.redaction);
  let nextSeq = 0;
  let copies: RecordCopy[] = [];

  /** @param isLogged not without audit: the log is what it was */
  function take(line: Buffer, extra: Buffer | undefined, isLogged: boolean): void {
    if (!chain && isLogged) void writer.writeBytes(line);
    const seq = chain ? chain.add(line) : nextSeq++;
    if (redactor) copies.push(readCopy(line, extra, seq, redactor));
  }

  function readCopy(line: Buffer, extra: Buffer | undefined, seq: number, redactor: Redactor): RecordCopy {
    try {
      return copyOf(line, extra, { instance, seq }, redactor);
    } catch (error) {
      // Its lines are our own; should one be broken all the same, the others go on.
      log.error({ seq, reason: errorText(error) }, "a record has no copy");
      return { value: { level: "error", message: "unreadable record", instance, seq } };
    }
  }

  const taker: Parameters<typeof takeEntries>[1] = {
    line: (line, extra) => take(line, extra, true),
    outcome: (outcome) => take(Buffer.from(formatOutcome(outcome)), undefined, chain !== undefined),
    checkpoint: () => chain?.checkpoint(),
  };

  const chunks = new Map<number, Buffer>();

  async function write({ chunk, memory, length }: Entries): Promise<void> {
    if (memory) chunks.set(chunk, Buffer.from(memory));
    takeEntries((chunks.get(chunk) as Buffer).subarray(0, length), taker);
    const [taken, signed] = [copies, note];
    copies = [];
    note = undefined;
    const flushed = writer.flush();
    if (taken.length > 0) for (const consumer of consumers) consumer.take(taken);
    try {
      await flushed;
    } catch {
      // Reported as lost, at the end.
      return;
    }
    isFailing = false;
    tell({ type: "written", chunk, length, note: signed });
    tellChange();
  }

  async function flush(id: number): Promise<void> {
    const parts = [writer.flush(), ...consumers.map((consumer) => consumer.flush())];
    const results = await Promise.allSettled(parts);
    tell({ type: "flushed", id, isLost: results.some(({ status }) => status === "rejected") });
  }

  function reopen(): void {
    try {
      writer.reopen();
    } catch (error) {
      const { code, message } = error as GatewayError;
      tell({ type: "error", code, message, queued: 0 });
    }
  }

  let saidKeep = true;
  function canKeep(): boolean {
    return !isFailing && consumers.every((consumer) => consumer.canKeep);
  }
  /** At once, since nothing may pass then. */
  function tellChange(): void {
    if (canKeep() !== saidKeep) tellState();
  }
  function tellState(): void {
    saidKeep = canKeep();
    tell({
      type: "state",
      state: { canKeep: saidKeep, consumers: consumers.map((consumer) => consumer.status()) },
    });
  }
  const timer = consumers.length > 0 ? setInterval(tellState, STATE_EVERY_MS) : undefined;
  if (consumers.length > 0) tellState();

  async function close(): Promise<void> {
    clearInterval(timer);
    port.off("message", onMessage);
    chain?.end();
    const signed = note;
    await writer.close();
    await Promise.allSettled(consumers.map((consumer) => within(closeTimeoutMs, consumer.close(), () => undefined)));
    tell({ type: "closed", note: isFailing ? undefined : signed });
  }

  function onMessage(message: ToRecordThread): void {
    switch (message.type) {
      case "entries":
        void write(message);
        break;
      case "arguments":
        redactor?.setRoutes(message.declared);
        break;
      case "forget":
        chunks.delete(message.chunk);
        break;
      case "flush":
        void flush(message.id);
        break;
      case "reopen":
        reopen();
        break;
      default:
        void close();
    }
  }
  port.on("message", onMessage);
  tell({ type: "ready" });
}
