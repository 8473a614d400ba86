/**
 * A line of the queue: the JSON of a record and, after a tab, a note for the record store. The JSON contains no tab.
 */
import type { RecordCopy } from "../audit/record-consumer.ts";
import { parseObject } from "../shared/is-record.ts";

export interface QueueLine {
  /** JSON */
  readonly text: string;
  readonly note: string | undefined;
  /** Undefined unless the text is a JSON object. */
  readonly value: RecordCopy["value"] | undefined;
}

/** @returns the line with its line end */
export function formatLine(value: RecordCopy["value"], note: string | undefined): string {
  return `${JSON.stringify(value)}${note === undefined ? "" : `\t${note}`}\n`;
}

/** @param line without a line end @param value the parsed text, if available */
export function readLine(line: string, value?: RecordCopy["value"]): QueueLine {
  const tab = line.indexOf("\t");
  const [text, note] = tab === -1 ? [line] : [line.slice(0, tab), line.slice(tab + 1)];
  return { text, note, value: value ?? parseObject(text) };
}
