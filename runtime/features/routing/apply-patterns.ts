/**
 * Patterns at one node of a host's tree, by the text that follows there in every path they match: of thousands only
 * possible matches are tried.
 */
import { compilePatterns } from "./path-pattern.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";

interface Candidate<T> {
  readonly source: string;
  readonly item: T;
}

/** Patterns that start with the same text. */
interface PatternList<T> {
  readonly stem: string;
  /**
   * Sorted at the first path. Each source is matched against the text after the stem, in `#whole` against whole paths.
   */
  readonly candidates: Candidate<T>[];
  compiled: { readonly sources: readonly string[]; readonly key: string } | undefined;
}

/** Beyond this number of lists, a map is faster. */
const FEW = 4;

export class PatternPlaces<T> {
  readonly #automata: Automata;
  readonly #order: (a: T, b: T) => number;
  /** Patterns that only match whole paths. */
  #whole: PatternList<T> | undefined;
  /** Patterns without a literal continuation, and the first few others. */
  readonly #lists: PatternList<T>[] = [];
  /** By length of the stem, then by the stem. */
  #byStem: Map<number, Map<string, PatternList<T>>> | undefined;

  /** @param order negative if the first item precedes the second */
  constructor(automata: Automata, order: (a: T, b: T) => number) {
    this.#automata = automata;
    this.#order = order;
  }

  /** @param rest undefined: `pattern` is matched against whole paths */
  add(pattern: string, stem: string, rest: string | undefined, item: T): void {
    const list = rest === undefined ? (this.#whole ??= listOf<T>("")) : this.#listFor(stem);
    list.candidates.push({ source: rest ?? pattern, item });
    list.compiled = undefined;
  }

  /** @returns the first item in order that matches the path, including `best` */
  find(path: string, at: number, best: T | undefined): T | undefined {
    let found = best;
    if (this.#whole !== undefined) found = this.#better(this.#whole, path, found);
    for (const list of this.#lists) {
      if (path.startsWith(list.stem, at)) found = this.#better(list, path.slice(at + list.stem.length), found);
    }
    if (this.#byStem === undefined) return found;
    for (const [length, lists] of this.#byStem) {
      const list = lists.get(path.slice(at, at + length));
      if (list !== undefined) found = this.#better(list, path.slice(at + length), found);
    }
    return found;
  }

  #listFor(stem: string): PatternList<T> {
    const known = this.#lists.find((each) => each.stem === stem) ?? this.#byStem?.get(stem.length)?.get(stem);
    if (known) return known;
    const list = listOf<T>(stem);
    if (this.#byStem === undefined && this.#lists.length < FEW) {
      this.#lists.push(list);
      return list;
    }
    this.#byStem ??= new Map();
    const sameLength = this.#byStem.get(stem.length);
    if (sameLength) sameLength.set(stem, list);
    else this.#byStem.set(stem.length, new Map([[stem, list]]));
    return list;
  }

  #better(list: PatternList<T>, text: string, best: T | undefined): T | undefined {
    const { sources, key } = (list.compiled ??= this.#sort(list));
    const index = this.#automata.match(key, sources, text);
    const found = index === undefined ? undefined : list.candidates[index]?.item;
    return found !== undefined && (best === undefined || this.#order(found, best) < 0) ? found : best;
  }

  #sort({ candidates }: PatternList<T>): NonNullable<PatternList<T>["compiled"]> {
    candidates.sort((a, b) => this.#order(a.item, b.item));
    const sources = candidates.map(({ source }) => source);
    return { sources, key: JSON.stringify(sources) };
  }
}

function listOf<T>(stem: string): PatternList<T> {
  return { stem, candidates: [], compiled: undefined };
}

/** Compiled patterns. Equal ones share an automaton, across routes and hosts. */
export interface Automata {
  /** @param key identifies the patterns @returns index of the first that matches the whole text */
  match(key: string, patterns: readonly string[], text: string): number | undefined;
}

/**
 * Compiled at first use, some 50 µs each. Most take 18 KB. The limit is for patterns and paths made to be large: 1 GB
 * (see `MAX_MEMORY_BYTES`).
 */
const MAX_AUTOMATA = 4_096;

interface Automaton extends Visited {
  readonly match: (text: string) => number | undefined;
}

export function createAutomata(capacity = MAX_AUTOMATA): Automata {
  const automata = new BoundedCache<Automaton>(capacity);
  return {
    match(key, patterns, text) {
      let automaton = automata.get(key);
      if (automaton === undefined)
        automata.set(key, (automaton = { match: compilePatterns(patterns), visited: false }));
      return automaton.match(text);
    },
  };
}
