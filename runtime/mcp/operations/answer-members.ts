/**
 * Replaces two members of responses that an upstream must not control: the codes of the gateway's own errors, and the
 * cache scope of responses that were decided for one caller.
 *
 * Untrusted input: the upstream's bytes, JSON or events, split anywhere. Promises: however such a member's name is
 * escaped, no client reads a gateway code or a scope other than `private`; text within JSON strings is unchanged. Only
 * an incomplete member is buffered, so that responses of any length stream through. Pure.
 */

/** Codes of decisions by the gateway. */
export const OWN_CODES: ReadonlySet<number> = new Set([-31403, -31429]);
/**
 * Code for server errors (JSON-RPC 2.0, §5.1); as long as the gateway's codes, so that the length of the response
 * stays.
 */
const SERVER_ERROR = "-32000";
const PRIVATE = '"private"';

/** Longer white space or numbers do not occur in practice; they must not grow the buffer. */
const MAX_HELD = 4_096;
/** The longest form of a name, with its first quote. */
const MAX_NAME = 64;

export class AnswerMembers {
  readonly #names: RegExp;
  #held = "";

  /** @param isCacheable the response may state a cache scope; replacing it changes the length */
  constructor(isCacheable: boolean) {
    this.#names = isCacheable ? CODE_OR_SCOPE : CODE;
  }

  /** @returns bytes to forward, the chunk itself if nothing changes; undefined for input that no server writes */
  push(chunk: Buffer): Buffer | undefined {
    const text = this.#held + chunk.toString("latin1");
    const names = this.#names;
    names.lastIndex = 0;
    let passed = "";
    let position = 0;
    let heldFrom = text.length;
    for (let found = names.exec(text); found; found = names.exec(text)) {
      const isCode = found[1] !== undefined;
      const value = findValue(text, names.lastIndex, isCode);
      if (value === "odd") return undefined;
      if (value === "cut") {
        heldFrom = found.index;
        break;
      }
      if (value === undefined) continue;
      const { start, end } = value;
      const put = replacement(text.slice(start, end), isCode);
      if (put !== undefined) {
        passed += text.slice(position, start) + put;
        position = end;
      }
      names.lastIndex = end;
    }
    if (heldFrom === text.length) heldFrom = beginsName(text, Math.max(position, text.length - MAX_NAME));
    if (text.length - heldFrom > MAX_HELD) return undefined;
    const isUnchanged = position === 0 && heldFrom === text.length && this.#held === "";
    this.#held = text.slice(heldFrom);
    return isUnchanged ? chunk : Buffer.from(passed + text.slice(position, heldFrom), "latin1");
  }

  /** Returns the buffered rest when no more data comes. */
  end(): Buffer {
    if (this.#held === "") return NOTHING;
    const rest = Buffer.from(this.#held, "latin1");
    this.#held = "";
    return rest;
  }
}

/** The same for a whole response. @returns the bytes themselves if nothing changes; undefined for input that no server writes */
export function replaceMembers(bytes: Buffer, isCacheable: boolean): Buffer | undefined {
  const members = new AnswerMembers(isCacheable);
  const passed = members.push(bytes);
  const rest = members.end();
  return passed === undefined || rest.length === 0 ? passed : Buffer.concat([passed, rest]);
}

const NOTHING = Buffer.alloc(0);

/** A pattern for a name with any of its letters in another case, or escaped. */
function escapable(name: string): string {
  return name
    .split("")
    .map((letter) => {
      const [small, large] = [letter.toLowerCase(), letter.toUpperCase()];
      const codes = [small, large].map((each) => each.charCodeAt(0).toString(16));
      // Some readers fold the long s to "s"; its bytes are matched one by one here.
      const long = small === "s" ? "|\\\\u017f|\\xc5\\xbf" : "";
      return `(?:[${small}${large}]|\\\\u00(?:${codes.map(anyCase).join("|")})${long})`;
    })
    .join("");
}

function anyCase(hexadecimal: string): string {
  return hexadecimal.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

const CODE = new RegExp(`"(${escapable("code")})"`, "g");
const CODE_OR_SCOPE = new RegExp(`"(?:(${escapable("code")})|${escapable("cacheScope")})"`, "g");

interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the value of the member whose name ends there. @returns undefined when it is not a name, or its value stays
 * whatever follows
 */
function findValue(text: string, nameEnd: number, isCode: boolean): Place | "cut" | "odd" | undefined {
  let position = nameEnd;
  let isLineOver = false;
  for (const awaited of ["colon", "value"] as const) {
    const next = text.charCodeAt(position);
    if (next <= SPACE) {
      BLANKS.lastIndex = position;
      const blanks = BLANKS.exec(text)?.[0] ?? "";
      position += blanks.length;
      isLineOver ||= /[\r\n]/.test(blanks);
    }
    if (position === text.length || (isLineOver && DATA.startsWith(text.slice(position)))) return "cut";
    LOOSE_LINE_END.lastIndex = position;
    if (LOOSE_LINE_END.test(text)) return LOOSE_LINE_END.lastIndex === text.length ? "cut" : "odd";
    // After the end of a line of an event stream another field may follow, and hide the rest of the member.
    if (isLineOver && /[a-z:]/i.test(text[position] ?? "")) return "odd";
    if (awaited === "value") break;
    if (text[position] !== ":") return undefined;
    position += 1;
  }
  const isText = text[position] === '"';
  // The gateway's codes are negative.
  if (!isText && !(isCode && text[position] === "-")) return undefined;
  if (isText && isCode) return findTextCode(text, position);
  const token = isText ? TEXT : NUMBER;
  token.lastIndex = position;
  const end = token.exec(text) === null ? position : token.lastIndex;
  if (end === text.length) return "cut";
  return { start: position, end };
}

/** Some readers accept the digits in a text as a number. */
function findTextCode(text: string, start: number): Place | "cut" | undefined {
  DIGITS.lastIndex = start;
  DIGITS.test(text);
  const end = DIGITS.lastIndex;
  if (text[end - 1] === '"' && end - start > 1) return { start, end };
  return end === text.length || CUT_ESCAPE.test(text.slice(end)) ? "cut" : undefined;
}

const SPACE = 0x20;
const BRACE = 0x7d;
const LINE_FEED = 0x0a;
/** Line ends of lenient clients (mcp/lists/event-blocks.ts), or a part of such a character at the end of the data. */
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const LOOSE_LINE_END = /[\v\f\x1c-\x1e]|\xc2(?:\x85|$)|\xe2(?:$|\x80(?:[\xa8\xa9]|$))/y;
const DIGITS = /"(?:[-+.0-9eE_ ]|\\[tnrf]|\\u00[0-9a-fA-F]{2})*"?/y;
const CUT_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
const DATA = "data:";
/** White space, and the start of the next line of an event. */
const BLANKS = /(?:[ \t\r\n]|(?<=[\r\n])data:)*/y;
const NUMBER = /[-+.0-9eE]*/y;
const TEXT = /"(?:[^"\\]|\\[^])*(?:"|\\?$)/y;

/** @returns undefined for a value that stays */
function replacement(value: string, isCode: boolean): string | undefined {
  if (!isCode) return value === PRIVATE ? undefined : PRIVATE;
  if (!value.startsWith('"')) return OWN_CODES.has(Number(value)) ? SERVER_ERROR.padEnd(value.length) : undefined;
  const digits = (JSON.parse(value) as string).replaceAll("_", "");
  return OWN_CODES.has(Number(digits)) ? `"${SERVER_ERROR}"`.padEnd(value.length) : undefined;
}

/** Position where an incomplete name may start. */
function beginsName(text: string, from: number): number {
  // Most responses arrive complete.
  const last = text.charCodeAt(text.length - 1);
  if (last === BRACE || last === LINE_FEED) return text.length;
  const quote = text.lastIndexOf('"');
  return quote >= from && /^[a-z0-9\\\x80-\xff]*$/i.test(text.slice(quote + 1)) ? quote : text.length;
}
