/**
 * Member names with a meaning in a message, and names that a careless upstream would confuse with them.
 *
 * Some JSON libraries match names without regard to case (Go, .NET, some Java settings):
 * `{"name":"ok","Name":"secret"}` calls `ok` for us and `secret` for them. Some also ignore dashes and underscores
 * (Go's encoding/json/v2). A name that equals a known one only under such a match is therefore rejected.
 */
import { foldCase, foldWords } from "../policy/mcp/fold-case.ts";
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
  | "ref"
  | typeof PROTOCOL_VERSION;

/** Members of `_meta`. */
export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const META_CLIENT = "io.modelcontextprotocol/clientInfo";

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
  "ref",
  PROTOCOL_VERSION,
];

/** Names that most clients write into `_meta`. None resembles a known member. */
const META_NAMES = [CLIENT_CAPABILITIES, META_CLIENT, "progressToken"] as const;
type MetaName = (typeof META_NAMES)[number];

const BY_HASH = byHash(MEMBERS);
const META_BY_HASH = byHash<Member | MetaName>([...MEMBERS, ...META_NAMES]);
const FOLDED: ReadonlySet<string> = new Set(MEMBERS.map(foldCase));
const JOINED: ReadonlySet<string> = new Set(MEMBERS.map((member) => foldWords(member)));

/**
 * The known member just read; "look-alike" for a name that some upstream may confuse with one; undefined for any other.
 */
export function knownMember(scanner: JsonScanner): Member | "look-alike" | undefined {
  return exactMember(scanner, BY_HASH) ?? (JOINED.has(foldWords(scanner.key())) ? "look-alike" : undefined);
}

/**
 * The same for the members of `_meta`, where only the protocol version has a meaning: applications add their own names,
 * and `task_id` is a common one.
 */
export function knownMetaMember(scanner: JsonScanner): Member | MetaName | "look-alike" | undefined {
  const exact = exactMember(scanner, META_BY_HASH);
  if (exact !== undefined) return exact;
  const key = scanner.key();
  return FOLDED.has(foldCase(key)) || foldWords(key) === JOINED_VERSION ? "look-alike" : undefined;
}

const JOINED_VERSION = foldWords(PROTOCOL_VERSION);

type ByHash<T> = ReadonlyMap<number, { readonly member: T; readonly bytes: Buffer }>;

/** Names to look for by the hash of a key. */
export function byHash<T extends string>(names: readonly T[]): ByHash<T> {
  return new Map(names.map((member) => [hashKey(Buffer.from(member)), { member, bytes: Buffer.from(member) }]));
}

/** @returns the name that the key just read has */
export function exactMember<T>(scanner: JsonScanner, known: ByHash<T>): T | undefined {
  const candidate = known.get(scanner.keyHash());
  return candidate && scanner.keyIs(candidate.bytes) ? candidate.member : undefined;
}
