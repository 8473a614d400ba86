/** Values and names in a configuration's policies, by digest: so that a digest in a record becomes the value again. */
import type { CompiledPolicy } from "../../policy/evaluate.ts";
import { operandsOf } from "../../policy/recorded/operands.ts";
import type { Digests } from "./digests.ts";
import type { Known } from "./tree.ts";

export interface Vocabulary extends Known {
  /**
   * Adds the values and names that a policy compares with. Must be called with all deciding policies before records are
   * read.
   */
  learn(policy: CompiledPolicy): void;
  /** Adds member names that other rules look up. */
  learnNames(names: readonly string[]): void;
  /** Adds values to compare recorded ones with. */
  learnValues(values: Iterable<unknown>): void;
}

export function createVocabulary(digests: Digests | undefined): Vocabulary {
  const values = new Map<string, string | number | boolean>();
  const names = new Map<string, string>();
  const folded = new Map<string, string>();
  if (digests) for (const flag of [true, false]) values.set(`b${digests.flag(flag)}`, flag);
  const learnValues = (given: Iterable<unknown>): void => {
    if (!digests) return;
    for (const value of given) {
      if (typeof value === "string") values.set(`t${digests.text(value)}`, value);
      else if (typeof value === "number") values.set(`n${digests.number(String(value))}`, value);
    }
  };
  const learnNames = (given: readonly string[]): void => {
    if (!digests) return;
    for (const name of given) {
      const digest = digests.name(name);
      names.set(digest.exact, name);
      folded.set(digest.folded, name);
    }
  };
  return {
    keyId: digests?.id,
    learn(policy) {
      if (!digests) return;
      const operands = operandsOf(policy);
      learnValues(operands.values);
      learnNames(operands.names);
    },
    learnNames,
    learnValues,
    value: (written) => values.get(written),
    name(written) {
      const [first = "", second = first] = written.slice(1).split(".");
      const named = names.get(second);
      if (named !== undefined) return named;
      const like = folded.get(first);
      // Like servers, foldCase drops everything from NUL on: the result is another form of a name in a policy, or
      // equals none. NUL is not enough: policies may name "" and blanks, which fold to nothing.
      return like === undefined ? `${written}\0` : `${like}\0${second}`;
    },
  };
}
