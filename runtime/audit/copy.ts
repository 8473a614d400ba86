/** Copies of records, for consumers: all fields, whatever the log has of them, with arguments as they may leave it. */
import type { RecordCopy } from "./record-consumer.ts";
import type { Redactor } from "./redaction/redactor.ts";

export interface CopyPlace {
  readonly instance: string;
  readonly seq: number;
}

/**
 * @param line of the log, with its line end; without its place, which is given
 * @param extra see entries.ts
 * @throws SyntaxError
 */
export function copyOf(
  line: Buffer,
  extra: Buffer | undefined,
  { instance, seq }: CopyPlace,
  redactor: Pick<Redactor, "copyFields">,
): RecordCopy {
  const more = extra === undefined ? "" : extra.toString("utf8", 0, extra.length - 1);
  const text = `${line.toString("utf8", 0, line.length - 2)}${more},"instance":"${instance}","seq":${seq}}`;
  return { value: redactor.copyFields(JSON.parse(text) as RecordCopy["value"], text) };
}
