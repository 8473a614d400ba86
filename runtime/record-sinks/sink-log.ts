/** The operator's log, as the thread of the records hands it on. Messages are constants. */
type Fields = Readonly<Record<string, unknown>>;

export type LogTo = (level: "info" | "warn" | "error", fields: Fields, message: string) => void;

export interface SinkLog {
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
}

export function sinkLog(to: LogTo): SinkLog {
  return {
    info: (fields, message) => to("info", fields, message),
    warn: (fields, message) => to("warn", fields, message),
    error: (fields, message) => to("error", fields, message),
  };
}
