/** Workloads that act for a user, as rules distinguish them: none, each workload in a rule, and another one. */
import { ACTOR_CLAIM } from "../../policy/mcp/actor-criteria.ts";
import type { ActorFacts } from "../../policy/facts.ts";
import type { ListMatch, StringMatch } from "../../policy/match.ts";
import type { Leaf } from "../../policy/tree.ts";
import { elementsOf, samplesOf } from "./samples.ts";

export const ACTOR_NAMES: ReadonlySet<string> = new Set(["actor", ACTOR_CLAIM]);

/** Most combinations of workloads and their claims. */
const MAX_ACTORS = 64;

export interface ActorSample {
  /** Undefined: the user alone. */
  readonly actor: ActorFacts | undefined;
  readonly description: string;
}

/** @returns [] if no rule is about actors */
export function actorsIn(leaves: readonly Leaf[]): readonly ActorSample[] {
  const own = leaves.filter(({ criterion }) => ACTOR_NAMES.has(criterion.name));
  if (own.length === 0) return [];
  const named = own.flatMap(({ key, data }) => (key === "actor" ? samplesOf(data as StringMatch) : []));
  const ids = new Set([...named.map(({ text }) => text), "workload:another/workload"]);
  const values = own.flatMap(({ criterion, subPath, data }) =>
    criterion.name === ACTOR_CLAIM ? elementsOf(data as ListMatch).map((value) => [subPath, value] as const) : [],
  );
  // As if the rule of the workload named all of these claims.
  const others = Object.fromEntries(values.map(([name]) => [name, ["another value"]]));
  const claims = [undefined, ...values];
  const unnamed = (id: string): ActorSample => ({
    actor: { id, run: "", claims: {} },
    description: `by an agent run of ${id} whose rule names no claims`,
  });
  const actors = [...ids].flatMap((id) => [
    ...(values.length > 0 ? [unnamed(id)] : []),
    ...claims.map((claim): ActorSample => {
      const some = claim ? { [claim[0]]: [claim[1]] } : {};
      const told = claim ? ` with the claim ${claim[0]} ${JSON.stringify(claim[1])}` : "";
      return {
        actor: { id, run: "", claims: { ...others, ...some } },
        description: `by an agent run of ${id}${told}`,
      };
    }),
  ]);
  return [{ actor: undefined, description: "without an agent run" }, ...actors.slice(0, MAX_ACTORS)];
}
