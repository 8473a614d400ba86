/** Plain data as the text of TypeScript literals. */
import { isRecord } from "../../shared/is-record.ts";

/** Notes that the program uses a name of `gateform/cdktf`, so that it imports it. @returns the name */
export type Use = (name: string) => string;

/** Name and value of a property, both as code. */
export type Entry = readonly [string, string];

/** A value of plain data as code. */
export function code(value: unknown): string {
  if (Array.isArray(value)) {
    const items = value.map(code);
    const line = `[${items.join(", ")}]`;
    return line.length <= 90 && !line.includes("\n")
      ? line
      : `[\n${items.map((item) => `${indent(item)},`).join("\n")}\n]`;
  }
  if (!isRecord(value)) return JSON.stringify(value);
  return object(Object.entries(value).map(([name, member]) => [key(name), code(member)]));
}

/** Members at every depth are names of settings. */
export function camelCode(value: unknown): string {
  return code(camelNames(value));
}

function camelNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelNames);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [camel(name), camelNames(member)]));
}

export function object(entries: readonly Entry[]): string {
  if (entries.length === 0) return "{}";
  const line = `{ ${entries.map(([name, text]) => `${name}: ${text}`).join(", ")} }`;
  if (line.length <= 70 && !line.includes("\n")) return line;
  return `{\n${entries.map(([name, text]) => indent(`${name}: ${text},`)).join("\n")}\n}`;
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}

export function key(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : JSON.stringify(name);
}

/** "host_rewrite_header" → "hostRewriteHeader", as the constructs' props are called. */
export function camel(setting: string): string {
  return setting.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
