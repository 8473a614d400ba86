/** The operator's log: pino with our redaction list. The authorization record has its own writer, see audit/record.ts. */
import { pino, type DestinationStream, type Logger } from "pino";

import { terminalText } from "./json/foreign-text.ts";

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
      serializers: { err: serializeError },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Servers, providers and clients wrote parts of it, and JSON does not escape everything that steers terminals.
      hooks: { streamWrite: terminalText },
    },
    options.destination ?? pino.destination({ fd: 2, sync: false }),
  );
}

/** Our own codes ("idp.refused") and Node's ("ECONNREFUSED"): words, without the digits that OAuth codes have. */
const ERROR_CODE = /^(?:[a-z]+(?:-[a-z]+)*(?:\.[a-z]+(?:-[a-z]+)*)+|E[A-Z]{2,}(?:_[A-Z0-9]+)*|[A-Z]+(?:_[A-Z0-9]+)+)$/;

/** `code` may also be an authorization code, which is never logged: an error's own code is logged as `failure`. */
function serializeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error) as object & { readonly code?: unknown };
  if (code === undefined) return rest;
  return typeof code === "string" && ERROR_CODE.test(code) ? { ...rest, failure: code } : { ...rest, code };
}

/** A log without output, for tests and one-shot commands. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
