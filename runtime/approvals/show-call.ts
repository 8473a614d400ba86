/**
 * A tool's arguments, laid out for the user who decides. Promise: nothing is omitted or hidden; numbers appear as sent.
 */
import { isRecord } from "../shared/is-record.ts";
import { NumberToken, parseVerbatim } from "../shared/canonical-json.ts";
import { visibleText } from "../shared/json/visible-text.ts";

/** Separate pieces of text, so that right-to-left text in one cannot move its surroundings. */
export interface ShownPiece {
  readonly text: string;
  readonly isQuoted: boolean;
}

export interface ShownCall {
  /** The tool's arguments; undefined: the call has none. */
  readonly arguments: readonly ShownPiece[] | undefined;
  /** Everything else in the message. */
  readonly others: readonly { readonly name: string; readonly value: readonly ShownPiece[] }[];
  /** The client's own header fields, a list of names and values; undefined: it sends none. */
  readonly fields: readonly ShownPiece[] | undefined;
}

/** Deeper levels are not indented further. */
const MAX_INDENT = 12;

/** @param given canonical JSON, as stored with approvals */
export function showCall(given: string): ShownCall {
  const whole = parseVerbatim(given);
  const [params, fields] = Array.isArray(whole) ? (whole as readonly unknown[]) : [whole];
  const members = isRecord(params) ? Object.entries(params) : [];
  const found = members.find(([name]) => name === "arguments")?.[1];
  return {
    arguments: found === undefined || found === null ? undefined : piecesOf(found),
    others: members
      .filter(([name]) => name !== "arguments")
      .map(([name, value]) => ({ name: visibleText(name), value: piecesOf(value) })),
    fields: Array.isArray(fields) ? piecesOfFields(fields as readonly (readonly [string, string])[]) : undefined,
  };
}

function piecesOf(value: unknown): readonly ShownPiece[] {
  const pieces: ShownPiece[] = [];
  layOut(value, 0, pieces);
  return pieces;
}

/** One field per line; a name may occur several times. */
function piecesOfFields(fields: readonly (readonly [name: string, value: string])[]): readonly ShownPiece[] {
  return fields.flatMap(([name, value], index) => [
    { text: visibleText(name), isQuoted: true },
    { text: ": ", isQuoted: false },
    { text: visibleText(value), isQuoted: true },
    { text: index < fields.length - 1 ? "\n" : "", isQuoted: false },
  ]);
}

function layOut(value: unknown, depth: number, pieces: ShownPiece[]): void {
  const plain = (text: string): void => void pieces.push({ text, isQuoted: false });
  const quoted = (text: string): void => void pieces.push({ text: visibleText(JSON.stringify(text)), isQuoted: true });
  const line = (at: number): void => plain(`\n${"  ".repeat(Math.min(at, MAX_INDENT))}`);
  if (typeof value === "string") return quoted(value);
  if (value instanceof NumberToken) return plain(value.text);
  if (typeof value !== "object" || value === null) return plain(JSON.stringify(value));
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  plain(isList ? "[" : "{");
  for (const [index, [name, member]] of entries.entries()) {
    if (index > 0) plain(",");
    line(depth + 1);
    if (!isList) {
      quoted(name);
      plain(": ");
    }
    layOut(member, depth + 1, pieces);
  }
  if (entries.length > 0) line(depth);
  plain(isList ? "]" : "}");
}
