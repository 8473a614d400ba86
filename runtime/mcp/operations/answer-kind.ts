/**
 * Kind of a response of an MCP server, from the first bytes of its pieces: for metrics only, no decision depends on it.
 *
 * Untrusted input: the bytes. Promises: reads a few members and no values, however long the piece is; a response in an
 * unusual form is of unknown kind. Pure.
 */

/**
 * "result", "tool_error" (a tool's own failure), or the code of a JSON-RPC error; "_OTHER" for an error without a code.
 */
export type AnswerKind = string;

/** @param piece as received, JSON or events @param isCall the response is to `tools/call` */
export function answerKind(piece: Buffer, isCall: boolean): AnswerKind | undefined {
  const first = skipBlanks(piece, 0);
  if (piece[first] === OPEN_BRACE) return kindAt(piece, first, isCall);
  let from = piece.indexOf(DATA);
  for (let events = 0; from !== -1 && events < MAX_EVENTS; events++) {
    const start = skipBlanks(piece, from + DATA.length);
    const kind = piece[start] === OPEN_BRACE ? kindAt(piece, start, isCall) : undefined;
    if (kind !== undefined) return kind;
    from = piece.indexOf(DATA, start);
  }
  return undefined;
}

const DATA = Buffer.from("data:");
/** Most notifications before the response in one piece. */
const MAX_EVENTS = 8;
/** Longest ID, and longest error message before its code. */
const MAX_VALUE = 512;
const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

const JSONRPC = Buffer.from('"jsonrpc"');
const ID = Buffer.from('"id"');
const RESULT = Buffer.from('"result"');
const ERROR = Buffer.from('"error"');
const CODE = Buffer.from('"code"');
const MESSAGE = Buffer.from('"message"');
/** Inside a string the quotes would be escaped. */
const IS_ERROR = Buffer.from('"isError"');
const TRUE = Buffer.from("true");

/** @param at the brace that opens the message */
function kindAt(piece: Buffer, at: number, isCall: boolean): AnswerKind | undefined {
  let position = skipBlanks(piece, at + 1);
  for (;;) {
    if (startsWith(piece, position, RESULT)) return isCall && hasToolError(piece, position) ? "tool_error" : "result";
    if (startsWith(piece, position, ERROR)) return codeAt(piece, valueAfter(piece, position + ERROR.length));
    const key = startsWith(piece, position, JSONRPC) ? JSONRPC : startsWith(piece, position, ID) ? ID : undefined;
    if (key === undefined) return undefined;
    const next = nextMember(piece, valueAfter(piece, position + key.length));
    if (next === undefined) return undefined;
    position = next;
  }
}

/** Tool errors are short: they are in the piece in which the result begins. */
function hasToolError(piece: Buffer, from: number): boolean {
  for (let at = piece.indexOf(IS_ERROR, from); at !== -1; at = piece.indexOf(IS_ERROR, at + 1))
    if (startsWith(piece, valueAfter(piece, at + IS_ERROR.length), TRUE)) return true;
  return false;
}

/** @param at the value of `error` */
function codeAt(piece: Buffer, at: number): string {
  let position = skipBlanks(piece, at + 1);
  if (startsWith(piece, position, MESSAGE))
    position = nextMember(piece, valueAfter(piece, position + MESSAGE.length)) ?? position;
  if (!startsWith(piece, position, CODE)) return "_OTHER";
  const start = valueAfter(piece, position + CODE.length);
  return /^-?[0-9]{1,6}(?=[\s,}])/.exec(piece.toString("latin1", start, start + 8))?.[0] ?? "_OTHER";
}

/** @param at a text or a number @returns start of the next member's name */
function nextMember(piece: Buffer, at: number): number | undefined {
  const end = Math.min(at + MAX_VALUE, piece.length);
  let position = at;
  if (piece[position] === QUOTE) {
    position++;
    while (position < end && piece[position] !== QUOTE) position += piece[position] === BACKSLASH ? 2 : 1;
  }
  while (position < end && piece[position] !== COMMA) position++;
  return position < end ? skipBlanks(piece, position + 1) : undefined;
}

/** @param at after a member's name */
function valueAfter(piece: Buffer, at: number): number {
  const colon = skipBlanks(piece, at);
  return piece[colon] === COLON ? skipBlanks(piece, colon + 1) : piece.length;
}

function startsWith(piece: Buffer, at: number, text: Buffer): boolean {
  if (at + text.length > piece.length) return false;
  for (let index = 0; index < text.length; index++) if (piece[at + index] !== text[index]) return false;
  return true;
}

function skipBlanks(piece: Buffer, from: number): number {
  let at = from;
  while (at < piece.length && (piece[at] === 0x20 || ((piece[at] as number) - 9 <= 4 && (piece[at] as number) >= 9)))
    at++;
  return at;
}
