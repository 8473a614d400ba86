/**
 * Search in tools by words, with BM25: rare words count more, repeated words less and less, and long descriptions less. Words of
 * the name count threefold. Pure, except that the words of a tool are kept as long as its definition.
 *
 * Untrusted input: the query and the tools. Bounded: words of the query, tools, and characters of each tool.
 */
import { isRecord } from "../../shared/is-record.ts";
import type { MessageJson } from "./json.ts";

export const MAX_SEARCHED_TOOLS = 5_000;
const MAX_TERMS = 16;
const MAX_CHARACTERS = 1_000;
const MAX_PARAMETERS = 50;
/** Usual parameters of BM25. */
const K1 = 1.2;
const B = 0.75;
const NAME_WEIGHT = 3;

interface Words {
  readonly frequencies: ReadonlyMap<string, number>;
  readonly length: number;
}

/** By schema: the part of a definition that copies with other names share. */
const known = new WeakMap<object, Words>();

/** @returns the best ones first; equal ones in their own order */
export function searchTools(tools: readonly MessageJson[], query: string, limit: number): readonly MessageJson[] {
  const searched = tools.slice(0, MAX_SEARCHED_TOOLS);
  const words = searched.map(wordsOf);
  let sum = 0;
  for (const { length } of words) sum += length;
  const average = Math.max(sum / Math.max(words.length, 1), 1);
  const scores = new Float64Array(words.length);
  for (const term of new Set(wordsIn(query).slice(0, MAX_TERMS))) addScores(scores, words, term, average);
  return best(scores, limit).map((at) => searched[at] as MessageJson);
}

/** Indexes of the highest scores. */
function best(scores: Float64Array, limit: number): readonly number[] {
  const found: number[] = [];
  for (let at = 0; at < scores.length; at += 1) {
    const score = scores[at] ?? 0;
    if (score <= 0 || (found.length === limit && score <= (scores[found[limit - 1] ?? 0] ?? 0))) continue;
    let place = found.length;
    while (place > 0 && (scores[found[place - 1] ?? 0] ?? 0) < score) place -= 1;
    found.splice(place, 0, at);
    if (found.length > limit) found.pop();
  }
  return found;
}

function addScores(scores: Float64Array, words: readonly Words[], term: string, average: number): void {
  const found: number[] = [];
  for (let at = 0; at < words.length; at += 1) if (words[at]?.frequencies.has(term) === true) found.push(at);
  const rarity = Math.log(1 + (words.length - found.length + 0.5) / (found.length + 0.5));
  for (const at of found) {
    const { frequencies, length } = words[at] as Words;
    const frequency = frequencies.get(term) ?? 0;
    const norm = K1 * (1 - B + (B * length) / average);
    scores[at] = (scores[at] ?? 0) + (rarity * frequency * (K1 + 1)) / (frequency + norm);
  }
}

function wordsOf(tool: MessageJson): Words {
  const { inputSchema } = tool;
  const key = isRecord(inputSchema) ? inputSchema : undefined;
  const kept = key && known.get(key);
  if (kept) return kept;
  const { name, title, description } = tool;
  const properties = key && isRecord(key["properties"]) ? Object.keys(key["properties"]).slice(0, MAX_PARAMETERS) : [];
  const frequencies = new Map<string, number>();
  let length = 0;
  const add = (text: unknown, weight: number): void => {
    for (const word of wordsIn(typeof text === "string" ? text : "")) {
      frequencies.set(word, (frequencies.get(word) ?? 0) + weight);
      length += 1;
    }
  };
  add(name, NAME_WEIGHT);
  add(title, NAME_WEIGHT);
  add(description, 1);
  add(properties.join(" "), 1);
  const words = { frequencies, length };
  if (key) known.set(key, words);
  return words;
}

/** "listPullRequests" has three words; plurals of English count as their singular. */
function wordsIn(text: string): readonly string[] {
  const split = text.slice(0, MAX_CHARACTERS).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  const words = split.toLowerCase().match(/[a-z0-9]+|[^\0-\x7f\s]+/g) ?? [];
  return words.map((word) =>
    word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word,
  );
}
