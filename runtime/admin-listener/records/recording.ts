/** Delivery of records after the log: metrics, `/status` and readiness. */
import type { ConsumerStatus } from "../../audit/record-consumer.ts";
import type { RecordsOfThread } from "../../audit/record-writer.ts";
import type { Series } from "../series.ts";

export interface RecordsState {
  /** `audit_required` */
  readonly required: boolean;
  readonly thread: Pick<RecordsOfThread, "canKeep" | "status"> | undefined;
}

/** Status of a sink in `/status`. Times are epoch seconds. */
export interface SinkStatus {
  readonly name: string;
  readonly kind: ConsumerStatus["kind"];
  readonly away: boolean;
  readonly waiting: number;
  readonly taken: number;
  readonly lost: number;
  readonly last_error: string | null;
  readonly last_success_at: number | null;
}

export function recordSeries(thread: NonNullable<RecordsState["thread"]>): readonly Series[] {
  const of = (value: (status: ConsumerStatus) => number) => () =>
    sinksOf(thread).map((status) => ({ value: value(status), labels: { sink: status.name } }));
  return [
    {
      name: "gateway_record_sink_taken_total",
      help: "Records accepted by the destination of a sink.",
      type: "counter",
      read: of(({ taken }) => taken),
    },
    {
      name: "gateway_record_sink_lost_total",
      help: "Records lost to the destination of a sink: queue full, rejected by it, or damaged on disk. A `record gap` reports each loss to it.",
      type: "counter",
      read: of(({ lost }) => lost),
    },
    {
      name: "gateway_record_sink_waiting",
      help: "Records on disk waiting for the destination of a sink.",
      type: "gauge",
      read: of(({ waiting }) => waiting),
    },
    {
      name: "gateway_record_sink_away",
      help: "1 if the destination of a sink accepts no records.",
      type: "gauge",
      merge: "max",
      read: of(({ isAway }) => (isAway ? 1 : 0)),
    },
    {
      name: "gateway_records_unavailable",
      help: "1 if requests cannot be recorded by the log, a sink or the record store; with `audit_required` they are denied.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: thread.canKeep ? 0 : 1 }],
    },
  ];
}

/** Whether requests can be recorded as required. */
export function canPass(records: RecordsState | undefined): boolean {
  return records?.required !== true || records.thread?.canKeep !== false;
}

/** Report of one worker, for the process that responds for all. */
export function recordingReport(records: RecordsState): {
  readonly recordSinks: readonly SinkStatus[];
  readonly canRecord: boolean;
} {
  return { recordSinks: sinkStatus(records).record_sinks ?? [], canRecord: canPass(records) };
}

export function sinkStatus(records: RecordsState | undefined): { readonly record_sinks?: readonly SinkStatus[] } {
  const sinks = records?.thread ? sinksOf(records.thread) : [];
  if (sinks.length === 0) return {};
  return {
    record_sinks: sinks.map(({ name, kind, isAway, waiting, taken, lost, lastError, lastSuccessAt }) => ({
      name,
      kind,
      away: isAway,
      waiting,
      taken,
      lost,
      last_error: lastError ?? null,
      last_success_at: lastSuccessAt === undefined ? null : Math.floor(lastSuccessAt / 1000),
    })),
  };
}

/** Several workers as one: each has a separate spool. */
export function mergeSinks(each: readonly (readonly SinkStatus[])[]): readonly SinkStatus[] {
  const merged = new Map<string, SinkStatus>();
  for (const sink of each.flat()) {
    const known = merged.get(sink.name);
    merged.set(
      sink.name,
      known
        ? {
            ...known,
            away: known.away || sink.away,
            waiting: known.waiting + sink.waiting,
            taken: known.taken + sink.taken,
            lost: known.lost + sink.lost,
            last_error: known.last_error ?? sink.last_error,
            last_success_at: Math.max(known.last_success_at ?? 0, sink.last_success_at ?? 0) || null,
          }
        : sink,
    );
  }
  return [...merged.values()];
}

function sinksOf(thread: NonNullable<RecordsState["thread"]>): readonly ConsumerStatus[] {
  return thread.status().filter(({ kind }) => kind !== "record_store");
}
