/** Policies of many routes, each compiled once: those of a team, or of a program that writes routes, are often the same. */
import { type CompiledPolicy, compilePolicy } from "../policy/evaluate.ts";
import type { PolicyDoc } from "../policy/parse.ts";

/** As `compilePolicy`; the same object for documents that say the same in the same words. */
export type PolicyCompiler = typeof compilePolicy;

/** Keeps what it compiled for as long as it lives itself: for one build, so that nothing has to be forgotten. */
export function createPolicyCompiler(): PolicyCompiler {
  const known = new Map<string, CompiledPolicy>();
  return (doc: PolicyDoc = []) => {
    const text = JSON.stringify(doc);
    let policy = known.get(text);
    if (!policy) known.set(text, (policy = compilePolicy(doc)));
    return policy;
  };
}
