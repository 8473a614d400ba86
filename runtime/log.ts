/** The operator's log: pino with our redaction list. The authorization record has its own writer, see policy/record.ts. */
import { pino, type DestinationStream, type Logger } from "pino";

export type Log = Logger;

/** Names that never appear with their value in any log line, at the two depths we log objects. */
const SECRET_NAMES = [
  "authorization",
  "cookie",
  "set-cookie",
  "token",
  "access_token",
  "refresh_token",
  "id_token",
  "code",
  "code_verifier",
  "client_secret",
  "shared_secret",
  "signing_key",
  "password",
  "secret",
  "assertion",
];

export interface LogOptions {
  readonly level?: string;
  /** Where lines go; standard error when absent, so that standard output stays free for records. */
  readonly destination?: DestinationStream;
}

export function createLog(options: LogOptions = {}): Log {
  const paths = SECRET_NAMES.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);
  return pino(
    {
      level: options.level ?? "info",
      base: null,
      redact: { paths, censor: "[redacted]" },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    options.destination ?? pino.destination({ fd: 2, sync: false }),
  );
}

/** A log that says nothing, for tests and one-shot commands. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
