/**
 * Criteria about the workload that acts for a user in an agent run.
 *
 * Without a run they are false whatever their operators, `not` and `exclude` included: a rule about actors concerns no
 * request of a user alone. Under `not` and `nor` they therefore match users alone, in allow and deny rules.
 */
import type { Criterion } from "../criterion.ts";
import type { Facts } from "../facts.ts";
import {
  compileListMatch,
  compileStringMatch,
  parseListMatch,
  parseStringMatch,
  SCALAR_LIST_MATCH_SCHEMA,
  STRING_MATCH_SCHEMA,
} from "../match.ts";
import { FALSE, TRUE, type Truth, UNKNOWN } from "../packed-outcome.ts";

export const ACTOR_CLAIM = "actor_claim";

export const ACTOR_CRITERIA: readonly Criterion[] = [
  {
    name: "actor",
    takesPath: false,
    doc: "Workload that acts for the user in an agent run: `workload:<issuer name>/<sub>`. False without a run.",
    about: "user",
    // A policy has room for 50 reasons: these are those of the user and of the user's claims.
    reasons: { ok: "user-ok", no: "user-unauthorized" },
    schema: STRING_MATCH_SCHEMA,
    read(data, _subPath, path, report) {
      const match = parseStringMatch(data, path, report);
      if (!match) return undefined;
      const matches = compileStringMatch(match, (text) => text);
      return { canonical: match, test: ({ user }) => user?.actor !== undefined && matches(user.actor.id) };
    },
    actual: ({ user }) => JSON.stringify(user?.actor?.id ?? ""),
  },
  {
    name: ACTOR_CLAIM,
    takesPath: true,
    doc: "Claim of that workload, written actor_claim/<name>. False without a run. Unknown if neither `claims` nor `identified_by` of its rule name it; the request then fails allow and deny rules.",
    about: "user",
    reasons: { ok: "claim-ok", no: "claim-unauthorized" },
    unknownReason: "claim-unknown",
    schema: SCALAR_LIST_MATCH_SCHEMA,
    read(data, subPath, path, report) {
      const match = parseListMatch(data, path, report, true);
      if (!match) return undefined;
      const matches = compileListMatch(match);
      const find = (facts: Facts): Truth => {
        if (facts.user?.actor === undefined) return FALSE;
        const values = claimOf(facts, subPath);
        if (values === undefined) return UNKNOWN;
        return matches(values) ? TRUE : FALSE;
      };
      return { canonical: match, find, test: (facts) => find(facts) === TRUE };
    },
    actual: (facts, subPath) => JSON.stringify(claimOf(facts, subPath) ?? []),
  },
];

/** @returns undefined if the record of the run has no such claim */
function claimOf({ user }: Facts, name: string): readonly string[] | undefined {
  const { claims = {} } = user?.actor ?? {};
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === "string" ? [value] : value;
}
