/**
 * The member names that carry meaning in a message, and names that a careless upstream would take for them.
 *
 * Some JSON libraries match names without regard to case (Go, .NET, some Java settings): `{"name":"ok","Name":"secret"}`
 * calls `ok` for us and `secret` for them. A name that equals a known one only under case folding is therefore refused.
 */
import { hashKey } from "./open-keys.ts";
import type { JsonScanner } from "./scan.ts";

export type Member =
  | "jsonrpc"
  | "id"
  | "method"
  | "params"
  | "result"
  | "error"
  | "name"
  | "uri"
  | "arguments"
  | "_meta"
  | "task"
  | "taskId"
  | "cursor"
  | typeof PROTOCOL_VERSION;

export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";

const MEMBERS: readonly Member[] = [
  "jsonrpc",
  "id",
  "method",
  "params",
  "result",
  "error",
  "name",
  "uri",
  "arguments",
  "_meta",
  "task",
  "taskId",
  "cursor",
  PROTOCOL_VERSION,
];

const BY_HASH: ReadonlyMap<number, { member: Member; bytes: Buffer }> = new Map(
  MEMBERS.map((member) => [hashKey(Buffer.from(member)), { member, bytes: Buffer.from(member) }]),
);
const FOLDED: ReadonlySet<string> = new Set(MEMBERS.map(foldCase));

/** The known member just read; "look-alike" for a name that some upstream may take for one; undefined for any other. */
export function knownMember(scanner: JsonScanner): Member | "look-alike" | undefined {
  const candidate = BY_HASH.get(scanner.keyHash());
  if (candidate && scanner.keyIs(candidate.bytes)) return candidate.member;
  return FOLDED.has(foldCase(scanner.key())) ? "look-alike" : undefined;
}

/**
 * One spelling for everything that some language's case-insensitive comparison calls equal: Go and .NET fold the Kelvin
 * sign to k and the long s to s, Java also the dotless and the dotted i; NUL and blanks at the end are cut by C parsers.
 */
export function foldCase(text: string): string {
  const isPlain = /^[a-z_0-9]*$/.test(text);
  if (isPlain) return text;
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  return text
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replace(/\u0307/g, "")
    .replace(/[\0\s].*$/s, "");
}
