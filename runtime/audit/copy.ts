/** Copies of records, for consumers: all fields, whatever the log has of them. */
import type { RecordCopy } from "./record-consumer.ts";

export interface CopyPlace {
  readonly instance: string;
  readonly seq: number;
}

/**
 * @param line of the log, with its line end; without its place, which is given
 * @param extra see entries.ts
 * @throws SyntaxError
 */
export function copyOf(line: Buffer, extra: Buffer | undefined, { instance, seq }: CopyPlace): RecordCopy {
  const more = extra === undefined ? "" : extra.toString("utf8", 0, extra.length - 1);
  const text = `${line.toString("utf8", 0, line.length - 2)}${more},"instance":"${instance}","seq":${seq}}`;
  const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return { value: value[ARGUMENTS] === undefined ? value : withoutArguments(value) };
}

const ARGUMENTS = "mcp-tool-parameters";

function withoutArguments(value: RecordCopy["value"]): RecordCopy["value"] {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== ARGUMENTS));
}
