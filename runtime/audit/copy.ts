/** Copies of records, for consumers: all fields, whichever the log has, with arguments redacted for leaving it. */
import type { RecordCopy } from "./record-consumer.ts";
import type { Redactor } from "./redaction/redactor.ts";

export interface CopyPlace {
  readonly instance: string;
  readonly seq: number;
}

/**
 * @param line of the log, with its line end, without the position
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
  const value = redactor.copyFields(JSON.parse(text) as RecordCopy["value"], text);
  return { value: MAY_BE_ODD.test(text) ? wellFormed(value) : value };
}

const MAY_BE_ODD = /\\u[dD]/;
/** In output of `JSON.stringify`: an escape after an even number of backslashes. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** Destinations reject texts that are not Unicode: with one, a caller could keep a record from them. */
function wellFormed(value: RecordCopy["value"]): RecordCopy["value"] {
  return JSON.parse(JSON.stringify(value).replaceAll(LONE_SURROGATE, "$1\\ufffd")) as RecordCopy["value"];
}
