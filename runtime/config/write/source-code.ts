/** Plain data as the text of TypeScript literals. */
import { isRecord } from "../../shared/is-record.ts";
import { visibleLiteral } from "../../shared/json/visible-text.ts";

/** Records that the program uses a name of `gateform/cdktf` and must import it. @returns the name */
export type Use = (name: string) => string;

/** Unquoted name of a property, and its value as code. */
export type PropertyEntry = readonly [string, string];

/** A plain data value as code. */
export function code(value: unknown): string {
  if (Array.isArray(value)) return list(value.map(code));
  if (typeof value === "string") return visibleLiteral(value);
  if (!isRecord(value)) return JSON.stringify(value);
  return object(Object.entries(value).map(([name, member]) => [name, code(member)]));
}

/** @param items items as code */
export function list(items: readonly string[]): string {
  const line = `[${items.join(", ")}]`;
  return line.length <= 90 && !line.includes("\n")
    ? line
    : `[\n${items.map((item) => `${indent(item)},`).join("\n")}\n]`;
}

/** Names are untrusted: the only place that quotes those that are not identifiers. */
export function object(entries: readonly PropertyEntry[]): string {
  if (entries.length === 0) return "{}";
  const members = entries.map(([name, text]) => `${key(name)}: ${text}`);
  const line = `{ ${members.join(", ")} }`;
  if (line.length <= 70 && !line.includes("\n")) return line;
  return `{\n${members.map((member) => indent(`${member},`)).join("\n")}\n}`;
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}

function key(name: string): string {
  // In an object literal `__proto__: …` sets the prototype, also in quotes.
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : visibleLiteral(name);
}

/** "host_rewrite_header" → "hostRewriteHeader", the name of the constructs' prop. */
export function camel(setting: string): string {
  return setting.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
