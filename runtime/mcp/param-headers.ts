/**
 * `Mcp-Param-*` headers repeat arguments of a tool call: proxies on the way trust them, and the server acts on the body.
 *
 * Which argument a header repeats is in the tool's schema (`x-mcp-header`), which this program may never have seen. So a header
 * must have the value of an argument of its name, or where no argument has that name, the value of any argument.
 *
 * @see MCP 2026-07-28, Streamable HTTP, custom headers from tool parameters
 */
import { parseExactly } from "../policy/mcp/argument-values.ts";
import { parseDecimal } from "../policy/mcp/decimal.ts";
import { NumberToken } from "../shared/canonical-json.ts";
import { isRecord } from "../shared/is-record.ts";
import { decodeMirror } from "./message-headers.ts";

/** @param json of the arguments; undefined: there are none */
export function matchParams(params: readonly (readonly [string, string])[], json: string | undefined): boolean {
  if (new Set(params.map(([name]) => name)).size < params.length) return false;
  const found: Found = { values: new Set(), byName: new Map() };
  collect(json === undefined ? {} : parseExactly(json), found);
  return params.every(([name, value]) => {
    const text = decodeMirror(value);
    if (text === undefined) return false;
    const values = found.byName.get(plainName(name)) ?? found.values;
    const number = numberKey(text);
    return values.has(`=${text}`) || (number !== undefined && values.has(number));
  });
}

interface Found {
  readonly values: Set<string>;
  /** Without a value: an object, a list or `null` has this name, which no header repeats. */
  readonly byName: Map<string, Set<string>>;
}

/** Schemas mark members of objects alone: elements of lists have no header. */
function collect(value: unknown, found: Found): void {
  if (!isRecord(value) || value instanceof NumberToken) return;
  for (const [name, member] of Object.entries(value)) {
    const plain = plainName(name);
    const named = found.byName.get(plain) ?? new Set();
    found.byName.set(plain, named);
    const key = keyOf(member);
    if (key === undefined) collect(member, found);
    else {
      named.add(key);
      found.values.add(key);
    }
  }
}

/** Equal for a value and the header that repeats it; integers compare as numbers. */
function keyOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return `=${value}`;
  if (typeof value === "number") return numberKey(String(value));
  return value instanceof NumberToken ? numberKey(value.text) : undefined;
}

function numberKey(text: string): string | undefined {
  const decimal = parseDecimal(text);
  return decimal && `${decimal.sign} ${decimal.digits} ${decimal.exponent}`;
}

/** "user_id", "userId" and "User-Id" are one. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[-_.]/g, "");
}
