/** Consumers of records in tests. */
import type {
  ConsumerLog,
  ConsumerStatus,
  RecordConsumer,
  RecordConsumers,
} from "../../runtime/audit/record-consumer.ts";

/** One consumer with its queue. */
export type TestConsumer = Omit<RecordConsumers, "status"> & Pick<RecordConsumer, "status">;

/** The first of them. */
export function alone(consumers: RecordConsumers): TestConsumer {
  return {
    take: (given) => consumers.take(given),
    flush: () => consumers.flush(),
    close: () => consumers.close(),
    get canKeep() {
      return consumers.canKeep;
    },
    status: () => consumers.status()[0] as ConsumerStatus,
  };
}

export type TestLog = (
  level: "info" | "warn" | "error",
  fields: Readonly<Record<string, unknown>>,
  message: string,
) => void;

export function logTo(take: TestLog): ConsumerLog {
  return {
    info: (fields, message) => take("info", fields, message),
    warn: (fields, message) => take("warn", fields, message),
    error: (fields, message) => take("error", fields, message),
  };
}
