/**
 * Headers that repeat the body (`MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`). The body is the
 * source of truth, but its reader must reject a header that differs, since intermediaries trust the header.
 *
 * @see MCP 2026-07-28, Streamable HTTP, request headers
 */
import { parseExactly } from "../policy/mcp/argument-values.ts";
import { parseDecimal } from "../policy/mcp/decimal.ts";
import { NumberToken } from "../shared/canonical-json.ts";
import { isRecord } from "../shared/is-record.ts";
import { decodeMirror } from "./message-headers.ts";
import type { MessageHeaders } from "./message-headers.ts";

/** Values in the body. Absent members are undefined; so are members that are not text. */
export interface Mirrored {
  readonly isRequest: boolean;
  readonly method: string | undefined;
  /** Whether `_meta` has a protocol version, text or not. */
  readonly hasVersion: boolean;
  readonly version: string | undefined;
  readonly name: string | undefined;
  readonly uri: string | undefined;
  readonly taskId: string | undefined;
}

/** First revision that demands the mirror headers. */
export const MODERN_FROM = "2026-07-28";

/**
 * In every revision a header that is present must match; from 2026-07-28 on they must also be present.
 *
 * @returns the era of the message, or "mismatch"
 */
export function checkMirrors(headers: MessageHeaders, body: Mirrored): "legacy" | "modern" | "mismatch" {
  if (headers.repeated === "mcp") return "mismatch";
  const { protocolVersion, mcpMethod, mcpName } = headers;
  // A claim that is not text cannot be compared.
  if (body.hasVersion && body.version === undefined) return "mismatch";
  if (protocolVersion !== undefined && body.hasVersion && protocolVersion !== body.version) return "mismatch";
  const isModern = isModernVersion(body.version) || isModernVersion(protocolVersion);
  if (isModern && protocolVersion === undefined) return "mismatch";

  if (mcpMethod !== undefined && decodeMirror(mcpMethod) !== body.method) return "mismatch";
  if (mcpName !== undefined && !isNameOf(decodeMirror(mcpName), body)) return "mismatch";
  if (isModern && body.isRequest) {
    if (mcpMethod === undefined) return "mismatch";
    if (mcpName === undefined && requiredName(body) !== undefined) return "mismatch";
  }
  return isModern ? "modern" : "legacy";
}

/** Revisions are dates and sort as text; any other value counts as newer, and gets the stricter rules. */
function isModernVersion(version: string | undefined): boolean {
  if (version === undefined) return false;
  return version >= MODERN_FROM || !/^\d{4}-\d{2}-\d{2}$/.test(version);
}

function isNameOf(value: string | undefined, body: Mirrored): boolean {
  if (value === undefined) return false;
  switch (body.method) {
    case "tools/call":
    case "prompts/get":
      return value === body.name;
    case "resources/read":
    case "skills/get":
      return value === body.uri;
    case "tasks/get":
    case "tasks/update":
    case "tasks/cancel":
      return value === body.taskId;
    default:
      // Extensions may mirror one of the same members for unknown methods.
      return value === body.name || value === body.uri || value === body.taskId;
  }
}

function requiredName({ method, name, uri }: Mirrored): string | undefined {
  if (method === "tools/call" || method === "prompts/get") return name;
  return method === "resources/read" ? uri : undefined;
}

/**
 * `Mcp-Param-*` repeats arguments of a tool call. Only the tool's schema (`x-mcp-header`) states which one, and the
 * gateway may never have seen it. So a header must have the value of an argument of its name, or, if no argument has
 * that name, the value of any argument. If one object has the name in two forms with two values (`region`, `Region`), a
 * header of that name is ambiguous.
 *
 * @param json of the arguments; undefined: there are none
 * @see MCP 2026-07-28, Streamable HTTP, custom headers from tool parameters
 */
export function matchParams(params: readonly (readonly [string, string])[], json: string | undefined): boolean {
  if (new Set(params.map(([name]) => name)).size < params.length) return false;
  const found: Found = { values: new Set(), byName: new Map(), unclear: new Set() };
  collect(json === undefined ? {} : parseExactly(json), found);
  return params.every(([name, value]) => {
    const text = decodeMirror(value);
    if (text === undefined || found.unclear.has(plainName(name))) return false;
    const values = found.byName.get(plainName(name)) ?? found.values;
    const number = numberKey(text);
    return values.has(`=${text}`) || (number !== undefined && values.has(number));
  });
}

interface Found {
  readonly values: Set<string>;
  /** Without a value: an object, a list or `null` has this name, which no header repeats. */
  readonly byName: Map<string, Set<string>>;
  /** Names that one object has twice, with different values. */
  readonly unclear: Set<string>;
}

/** Schemas mark only members of objects: elements of lists have no header. */
function collect(value: unknown, found: Found): void {
  if (!isRecord(value) || value instanceof NumberToken) return;
  const own = new Map<string, string | undefined>();
  for (const [name, member] of Object.entries(value)) {
    const plain = plainName(name);
    const named = found.byName.get(plain) ?? new Set();
    found.byName.set(plain, named);
    const key = keyOf(member);
    if (own.has(plain) && (key === undefined || own.get(plain) !== key)) found.unclear.add(plain);
    own.set(plain, key);
    if (key === undefined) collect(member, found);
    else {
      named.add(key);
      found.values.add(key);
    }
  }
}

/** Equal for a value and its header; integers compare as numbers. */
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
