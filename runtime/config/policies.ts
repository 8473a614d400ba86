/** Compiles each distinct policy once: routes of a team, or of a tool that generates routes, often share theirs. */
import { type CompiledPolicy, compilePolicy } from "../policy/evaluate.ts";
import type { PolicyDoc } from "../policy/parse.ts";

/** As `compilePolicy`; returns the same object for equal documents. */
export type PolicyCompiler = typeof compilePolicy;

/** Caches for its own lifetime, one build, so that no entry has to expire. */
export function createPolicyCompiler(): PolicyCompiler {
  const known = new Map<string, CompiledPolicy>();
  return (doc: PolicyDoc = []) => {
    const text = JSON.stringify(doc);
    let policy = known.get(text);
    if (!policy) known.set(text, (policy = compilePolicy(doc)));
    return policy;
  };
}
