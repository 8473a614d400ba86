/** Messages of members as values: in the order, and with the numbers, in which they were written. */
import { parseNumbers } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { isWithinBounds } from "../../shared/json/foreign-json.ts";

export type MessageJson = Readonly<Record<string, unknown>>;

/** A number that changes when it is read and written. Also matches in texts, which costs time only; dates and versions are not such. */
const MAY_CHANGE = /[[:,\s](?:-0|-?\d{16}|-?\d+[.eE])/;
/** An own member with this name would be lost. */
const PROTO_MEMBER = '"__proto__"';
export const PROTO = Buffer.from("__proto__");

/** Of many values, 16 MiB take seconds to read, during which no other request continues. */
const [MAX_DEPTH, MAX_VALUES] = [1_000, 500_000];
/** Shorter ones cannot have too many. */
export const COUNTED_LENGTH = 262_144;

/** TypeScript does not know them yet (ES2026). */
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => object;
  readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string };
};

/** @returns undefined for anything but one JSON object, and for one of too many values */
export function readMessage(bytes: Buffer): MessageJson | undefined {
  return readMessageText(bytes.toString("utf8"));
}

/** @returns the same */
export function readMessageText(text: string): MessageJson | undefined {
  if (!isWithinLimits(text)) return undefined;
  try {
    const value: unknown = MAY_CHANGE.test(text) ? parseNumbers(text, exactNumber) : JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @param text JSON @returns false: no message of this size and kind is read */
export function isWithinLimits(text: string): boolean {
  if (text.length > COUNTED_LENGTH && !isWithinBounds(text, MAX_DEPTH, MAX_VALUES)) return false;
  // The longer text begins with a character that is frequent.
  return !text.includes("__proto__") || !text.includes(PROTO_MEMBER);
}

function exactNumber(text: string): unknown {
  const value = Number(text);
  return String(value) === text ? value : rawJSON(text);
}

export function writeMessage(message: MessageJson): Buffer {
  return Buffer.from(writeJson(message));
}

export function writeJson(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

export function recordOf(value: unknown): MessageJson {
  return isRecord(value) ? value : {};
}

/** @returns undefined for anything but a number */
export function numberOf(value: unknown): number | undefined {
  if (isRawJSON(value)) return Number(value.rawJSON);
  return typeof value === "number" ? value : undefined;
}

/** @param text of an ID @returns the value that it has in a message that is read */
export function idValue(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  return SHORT_INTEGER.test(text) ? Number(text) : readMessageText(`{"id":${text}}`)?.["id"];
}

const SHORT_INTEGER = /^[0-9]{1,15}$/;

/** JSON text of an ID; undefined for none. */
export function idText(id: unknown): string | undefined {
  return id === undefined || id === null ? undefined : writeJson(id);
}
