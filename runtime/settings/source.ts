/**
 * Parses configuration text (YAML 1.2 or JSON) into a plain JSON value, and locates paths by line and column. Also
 * accepts already parsed values, within the same limits.
 *
 * Untrusted input: the text, the value; others publish slices. Promises: the value has only JSON types and no
 * `__proto__`. Keys are unique. Aliases expand within a budget. Nothing throws. YAML beyond JSON (tags, merge keys,
 * other YAML versions, NaN, several documents) is rejected with its location, because two readers of one file must
 * agree on its meaning.
 */
import { MAX_TOKENS, parseBoundedYaml, TooMuchYaml } from "./bounded-yaml.ts";
import { MAX_DEPTH, readPlainJson, countKeys, isPortable } from "./plain-json.ts";
import { isAlias, isMap, isScalar, isSeq, type Document, type Pair, type ParsedNode, type YAMLMap } from "yaml";

import { MAX_PROBLEMS, quote, type Problem, type ValuePath } from "./problem.ts";

export interface SourceText {
  readonly file: string;
  /** Absent if the text could not be read; `problems` states the reason. */
  readonly value?: unknown;
  readonly problems: readonly Problem[];
  /** Position of the member at the path, or of its nearest existing ancestor. Empty if finding it costs too much. */
  readonly locate: (
    path: ValuePath,
    severity: Problem["severity"],
  ) => { readonly line?: number; readonly column?: number };
}

const MAX_JSON_LENGTH = 64 * 1024 * 1024;
/** YAML parses at about a megabyte per second, and hand-written files are never larger. */
const MAX_YAML_LENGTH = 8 * 1024 * 1024;
/** Some 100,000 routes, and 240 MiB at most. */
const MAX_VALUES = 2_000_000;
/**
 * Positions in JSON need a second parse (some 200 ms for 1,000 routes). Larger slices are generated, and their paths
 * suffice. Positions of warnings are omitted first.
 */
const MAX_LOCATED = { error: 2 * 1024 * 1024, warning: 64 * 1024 };
const MAX_LOCATED_VALUES = 20_000;
const MAX_ALIASED_NODES = 100_000;
const TOO_DEEP = `is nested too deeply, at most ${MAX_DEPTH} levels are read`;
const TOO_MANY = `has more than ${MAX_TOKENS} tokens of YAML, must be smaller or JSON`;
const PROTO_KEY = 'has the key "__proto__", which is not a setting';
const HALF_CHARACTER = "has half of a surrogate pair, which is not a character";
const INEXACT = "is a number that JSON cannot carry exactly, must be smaller or text in quotes";

export interface SourceOptions {
  /** The same text will be read again immediately. */
  readonly isAgain?: boolean;
  /** Limit of members, items, blocks and lists in JSON. */
  readonly maxValues?: number;
}

/** One text for an immediate second read: YAML costs a second per megabyte. */
let cached: { readonly text: string; readonly source: SourceText } | undefined;

export function readSource(
  file: string,
  text: string,
  { isAgain = false, maxValues = MAX_VALUES }: SourceOptions = {},
): SourceText {
  const before = cached;
  cached = undefined;
  const isKnown = before !== undefined && before.source.file === file && before.text === text;
  const source = isKnown ? before.source : read(file, text, maxValues);
  if (isAgain) cached = { text, source };
  return source;
}

function read(file: string, text: string, maxValues: number): SourceText {
  const whole = (message: string): SourceText => failed(file, [{ severity: "error", file, path: [], message }]);
  if (text.length > MAX_JSON_LENGTH) return whole("is larger than 64 MiB");
  // Large slices are JSON. JSON.parse is fifty times as fast as the YAML reader, which then only provides positions.
  const fast = readPlainJson(text, maxValues);
  if (fast.kind === "value") {
    let tree: Tree | undefined;
    const isLocated = fast.values <= MAX_LOCATED_VALUES;
    const locate: SourceText["locate"] = (path, severity) =>
      text.length > MAX_LOCATED[severity] || !isLocated ? {} : (tree ??= new Tree(file, text)).locate(path);
    return { file, value: fast.value, problems: [], locate };
  }
  if (fast.kind === "too many") return whole(`has more than ${maxValues} values`);
  if (text.length > MAX_YAML_LENGTH) {
    return whole(
      fast.kind === "too deep" ? TOO_DEEP : "is larger than 8 MiB and no plain JSON, must be smaller or sound JSON",
    );
  }
  const tree = new Tree(file, text);
  const value = tree.toValue();
  if (tree.problems.length > 0) return failed(file, tree.problems);
  return { file, value, problems: [], locate: (path) => tree.locate(path) };
}

/** A value already parsed by Terraform or a cluster's API. Its problems have no line. */
export function readValue(file: string, value: unknown): SourceText {
  const locate: SourceText["locate"] = () => ({});
  if (!Number.isNaN(countKeys(value, 0))) return { file, value, problems: [], locate };
  const problems: Problem[] = [];
  reportUnreadable(value, [], (path, message) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ severity: "error", file, path, message });
  });
  return failed(file, problems);
}

/** Reports values for which `countKeys` returns NaN. */
function reportUnreadable(value: unknown, path: ValuePath, report: (path: ValuePath, message: string) => void): void {
  if (typeof value !== "object" || value === null) {
    if (!isPortable(value)) report(path, INEXACT);
    return;
  }
  if (path.length > MAX_DEPTH) return report(path, TOO_DEEP);
  for (const [name, member] of Object.entries(value)) {
    if (name === "__proto__") report(path, PROTO_KEY);
    else reportUnreadable(member, [...path, Array.isArray(value) ? Number(name) : name], report);
  }
}

function failed(file: string, problems: readonly Problem[]): SourceText {
  return { file, problems, locate: () => ({}) };
}

/** The parsed YAML document with our own conversion, which rejects anything that JSON cannot represent. */
class Tree {
  readonly problems: Problem[] = [];
  readonly #file: string;
  readonly #text: string;
  readonly #document: Document.Parsed | undefined;
  readonly #anchors = new Map<string, ParsedNode>();
  readonly #pairs = new Map<YAMLMap.Parsed, Map<unknown, Pair<ParsedNode, ParsedNode | null>>>();
  #lineStarts: number[] | undefined;
  /** Path of the value that is being converted. */
  readonly #path: (string | number)[] = [];
  #aliased = 0;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
    try {
      this.#document = parseBoundedYaml(text);
    } catch (error) {
      if (!(error instanceof TooMuchYaml)) throw error;
      this.#report(error.offset, error.excess === "too deep" ? TOO_DEEP : TOO_MANY);
    }
  }

  toValue(): unknown {
    const document = this.#document;
    if (!document) return undefined;
    for (const error of document.errors) {
      if (error.code === "MULTIPLE_DOCS") {
        this.#report(error.pos[0], "begins a second document, must hold one");
        continue;
      }
      // After the colon the reader may repeat the text, which may contain a secret.
      this.#report(error.pos[0], `is not valid YAML: ${error.message.split(": ")[0] ?? ""}`);
    }
    if (document.directives.yaml.version !== "1.2") this.#report(0, "declares another YAML version, must be YAML 1.2");
    if (this.problems.length > 0) return undefined;
    return this.#convert(document.contents, 0, false);
  }

  locate(path: ValuePath): { readonly line?: number; readonly column?: number } {
    let node = this.#document?.contents ?? null;
    let offset = node?.range[0] ?? 0;
    for (const part of path) {
      if (isAlias(node)) node = this.#anchors.get(node.source) ?? null;
      if (isMap(node)) {
        const pair = this.#pairOf(node, part);
        if (!pair) break;
        offset = pair.key.range?.[0] ?? offset;
        node = pair.value;
      } else if (isSeq(node) && typeof part === "number") {
        const item = node.items[part];
        if (!item) break;
        offset = item.range?.[0] ?? offset;
        node = item;
      } else break;
    }
    return this.#position(offset);
  }

  /** Built once for all members: every route of thousands may have a problem. */
  #pairOf(map: YAMLMap.Parsed, name: string | number): Pair<ParsedNode, ParsedNode | null> | undefined {
    let pairs = this.#pairs.get(map);
    if (!pairs) {
      pairs = new Map();
      for (const pair of map.items) {
        if (isScalar(pair.key) && !pairs.has(pair.key.value)) pairs.set(pair.key.value, pair);
      }
      this.#pairs.set(map, pairs);
    }
    return pairs.get(name);
  }

  #convert(node: ParsedNode | null, depth: number, aliased: boolean): unknown {
    if (node === null) return null;
    if (aliased && ++this.#aliased > MAX_ALIASED_NODES) {
      if (this.#aliased === MAX_ALIASED_NODES + 1) this.#report(node.range[0], "expands aliases to too many values");
      return null;
    }
    if (depth > MAX_DEPTH) {
      this.#report(node.range[0], TOO_DEEP);
      return null;
    }
    if (isAlias(node)) {
      // Only finished nodes are in the map, so an alias inside its own anchor has no target.
      const target = this.#anchors.get(node.source);
      if (!target) this.#report(node.range[0], "is an alias without an earlier anchor of that name");
      return target === undefined ? null : this.#convert(target, depth + 1, true);
    }
    if (node.tag !== undefined && !aliased) this.#report(node.range[0], "has a YAML tag, must be a plain value");
    const value = isMap(node)
      ? this.#convertMap(node, depth, aliased)
      : isSeq(node)
        ? node.items.map((item, at) => this.#within(at, () => this.#convert(item, depth + 1, aliased)))
        : this.#convertScalar(node, aliased);
    if (node.anchor !== undefined && !aliased) this.#anchors.set(node.anchor, node);
    return value;
  }

  #convertScalar(node: ParsedNode, aliased: boolean): unknown {
    const value = isScalar(node) ? node.value : undefined;
    if (
      !aliased &&
      (!isPortable(value) || (value !== null && !["string", "number", "boolean"].includes(typeof value)))
    ) {
      this.#report(node.range[0], INEXACT);
    }
    if (!aliased && typeof value === "string" && !value.isWellFormed()) this.#report(node.range[0], HALF_CHARACTER);
    return value;
  }

  #convertMap(node: ParsedNode, depth: number, aliased: boolean): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    if (!isMap(node)) return record;
    for (const { key, value } of node.items) {
      const at = key?.range?.[0] ?? node.range[0];
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name !== "string") {
        const shown = typeof name === "number" || typeof name === "boolean" ? ` ${String(name)}` : "";
        if (!aliased) this.#report(at, `has a key${shown} that is not text, must be text in quotes`);
        continue;
      }
      const problem = memberNameProblem(name, isScalar(key) && key.type === "PLAIN", record);
      if (problem !== undefined) {
        if (!aliased) this.#report(at, problem);
        continue;
      }
      record[name] = this.#within(name, () => this.#convert(value, depth + 1, aliased));
    }
    return record;
  }

  #within<T>(step: string | number, convert: () => T): T {
    this.#path.push(step);
    const value = convert();
    this.#path.pop();
    return value;
  }

  #report(offset: number, message: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const path = [...this.#path];
    this.problems.push({ severity: "error", file: this.#file, ...this.#position(offset), path, message });
  }

  #position(offset: number): { readonly line: number; readonly column: number } {
    this.#lineStarts ??= lineStarts(this.#text);
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) + 1 };
  }
}

function memberNameProblem(name: string, plain: boolean, record: Record<string, unknown>): string | undefined {
  if (name === "<<" && plain) return 'has a merge key "<<", must spell the members out';
  if (name === "__proto__") return PROTO_KEY;
  if (!name.isWellFormed()) return HALF_CHARACTER;
  if (Object.hasOwn(record, name)) return `has the key ${quote(name)} twice, must have it once`;
  return undefined;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
