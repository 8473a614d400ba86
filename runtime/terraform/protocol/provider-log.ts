/**
 * The provider's log: JSON lines on standard error in the form that Terraform parses, shown by TF_LOG.
 *
 * Standard output is reserved for the handshake line.
 */
import { terminalText } from "../../shared/json/foreign-text.ts";

export interface ProviderLog {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** @param write takes one line with its line end; must not block for long */
export function createProviderLog(write: (line: string) => void, now: () => number): ProviderLog {
  const at = (level: string) => (fields: LogFields, message: string) => {
    // Terraform reads exactly six digits of a second; with three it shows the whole line as raw text.
    const timestamp = new Date(now()).toISOString().replace("Z", "000Z");
    write(
      `${terminalText(JSON.stringify({ "@level": level, "@message": message, "@timestamp": timestamp, "@module": "gateway", ...fields }))}\n`,
    );
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
