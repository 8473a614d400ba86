/**
 * Lockable items of an MCP server: the texts that clients show to models before a user or model has chosen to use them.
 *
 * Promise: each item has one key, unique across kinds, whatever names a server uses. Pure.
 */

/** Member in a list response and in the lock file, the item's naming member, and the methods that list it. */
export const LOCKABLE = {
  tool: { member: "tools", naming: "name", word: "tool", methods: ["tools/list"] },
  prompt: { member: "prompts", naming: "name", word: "prompt", methods: ["prompts/list"] },
  template: {
    member: "resourceTemplates",
    naming: "uriTemplate",
    word: "resource template",
    methods: ["resources/templates/list"],
  },
  /** Entries with the digests of all files of a skill (`io.modelcontextprotocol/skills`). */
  skill: { member: "skills", naming: "uri", word: "skill", methods: ["skills/list", "skills/get"] },
  /** One text, without a name. */
  instructions: {
    member: "instructions",
    naming: undefined,
    word: "instructions",
    methods: ["initialize", "server/discover"],
  },
} as const satisfies Readonly<Record<string, Lockable>>;

interface Lockable {
  readonly member: string;
  readonly naming: string | undefined;
  readonly word: string;
  readonly methods: readonly string[];
}

export type LockedKind = keyof typeof LOCKABLE;

export const LOCKED_KINDS = Object.keys(LOCKABLE) as readonly LockedKind[];

/**
 * A key that starts with this character or a lower one is not a tool name. Records of drift use the two lower ones
 * (seen-tools.ts).
 */
const MARK = "\u0002";

/** A tool's key is its name, because records of drift date from when only tools could be locked. */
export function itemKey(kind: LockedKind, name: string): string {
  return kind === "tool" && !(name.charCodeAt(0) <= MARK.charCodeAt(0)) ? name : `${MARK}${kind}:${name}`;
}

export function kindOfKey(key: string): LockedKind {
  return key.startsWith(MARK) ? (key.slice(1, key.indexOf(":")) as LockedKind) : "tool";
}

export function nameOfKey(key: string): string {
  return key.startsWith(MARK) ? key.slice(key.indexOf(":") + 1) : key;
}

/** Display text. */
export function itemLabel(kind: LockedKind, name: string): string {
  return kind === "tool" ? name : kind === "instructions" ? kind : `${LOCKABLE[kind].word} ${name}`;
}

export function keyLabel(key: string): string {
  return itemLabel(kindOfKey(key), nameOfKey(key));
}
