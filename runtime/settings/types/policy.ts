/** The policy of a route as a setting; for its language see policy/parse.ts. */
import * as z from "zod/mini";
import { validatePolicy } from "../../policy/validate-rules.ts";
import { type ActionDoc, parsePolicy, type PolicyDoc } from "../../policy/parse.ts";
import { parsePath } from "../problem.ts";
import { type About, type Made, made, found } from "./registry.ts";

/** A route's policy. */
export function policy(about: About): z.ZodMiniExactOptional<z.ZodMiniType<PolicyDoc>> {
  const schema = z.unknown().check(({ value, issues }) => {
    const parsed = parsePolicy(value);
    // A policy that does not parse is not validated further.
    for (const problem of parsed.ok ? validatePolicy(parsed.policy) : parsed.problems) {
      issues.push(found(value, problem.message, [...parsePath(problem.path)]));
    }
  });
  // The check accepts exactly what parsePolicy accepts, but zod cannot infer the type.
  return made<z.ZodMiniType<PolicyDoc>, { doc: string }>(
    schema as unknown as z.ZodMiniType<PolicyDoc>,
    "policy",
    about,
  );
}

/** Criteria without an action, with the operators of a policy: `{ or: [...] }`. */
export function criteria<const A extends About>(about: A): Made<z.ZodMiniType<ActionDoc>, A> {
  const schema = z.unknown().check(({ value, issues }) => {
    const parsed = parsePolicy({ allow: value });
    for (const problem of parsed.ok ? validatePolicy(parsed.policy) : parsed.problems)
      issues.push(found(value, problem.message, parsePath(problem.path).slice(1)));
  });
  return made(schema as unknown as z.ZodMiniType<ActionDoc>, "criteria", about);
}
