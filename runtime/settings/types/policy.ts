/** The policy of a route as a setting; its language is policy/parse.ts. */
import * as z from "zod";
import { validatePolicy } from "../../policy/validate-rules.ts";
import { parsePolicy, type PolicyDoc } from "../../policy/parse.ts";
import { parsePath } from "../problem.ts";
import { type About, made, found } from "./registry.ts";

/** A route's policy; its language is policy/parse.ts. */
export function policy(about: About): z.ZodExactOptional<z.ZodType<PolicyDoc>> {
  const schema = z.unknown().check(({ value, issues }) => {
    const parsed = parsePolicy(value);
    // What cannot be read is not validated.
    for (const problem of parsed.ok ? validatePolicy(parsed.policy) : parsed.problems) {
      issues.push(found(value, problem.message, [...parsePath(problem.path)]));
    }
  });
  // The check accepts exactly what parsePolicy does; zod cannot know the type, parsePolicy does.
  return made<z.ZodType<PolicyDoc>, { doc: string }>(schema as unknown as z.ZodType<PolicyDoc>, "policy", about);
}
