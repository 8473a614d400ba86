/**
 * Access of one owner's token, and the content hidden from it.
 *
 * Untrusted input: the holder of such a token is one team of several. Promises: nothing about other owners' slices,
 * about users or the host; problems elsewhere are mentioned without details.
 */
import { isRecord } from "../shared/is-record.ts";
import { matchesOwner } from "../features/process/owners.ts";
import { json, type AdminReply, type PublishScope, type AdminRequest } from "./answer.ts";
import type { Problem } from "../config/load.ts";
import { publishedName } from "../bundle/validation/protocol.ts";
import { ELSEWHERE, seenProblem } from "../bundle/validation/seen-problems.ts";
import { type Laggard, withoutRefusal } from "../bundle/liveness.ts";
import type { Publishing } from "../bundle/publication.ts";
import type { PublishOutcome, Validated } from "../bundle/publisher.ts";

const NOT_IN_FORCE = "the newest configuration is not active; ask the gateway's operator for the reason";

export function publishScope(entry: string): PublishScope {
  return { entry, covers: (owner) => matchesOwner(entry, owner) };
}

/** The response for everything outside the token's scope. */
export function outsideScope({ entry }: PublishScope): AdminReply {
  return json(403, { error: "owner", message: `this token is only valid for the slice of owner "${entry}"` });
}

/** The part of `/status` for publishers. @param status of one process, or of several together */
export function scopedStatus(status: object, scope: PublishScope): object {
  const { store, bundle, seal_key } = status as Readonly<Record<string, unknown>>;
  return { store, bundle: isRecord(bundle) ? scopedBundle(bundle, scope) : null, seal_key };
}

function scopedBundle(bundle: Readonly<Record<string, unknown>>, scope: PublishScope): object {
  const { digest, generation, loadedAt, lastError } = bundle;
  const own = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
    (Array.isArray(value) ? value : []).filter(
      (each) => isRecord(each) && typeof each["owner"] === "string" && scope.covers(each["owner"]),
    );
  const degraded = own(bundle["degraded"]);
  const problems = degraded.flatMap((each) => each["problems"]);
  // A problem that blocks the whole configuration concerns every owner.
  if (isRecord(lastError) && lastError["partial"] !== true) problems.push(NOT_IN_FORCE);
  const ownError = problems.length > 0 && isRecord(lastError) ? { lastError: { at: lastError["at"], problems } } : {};
  return { digest, generation, loadedAt, slices: own(bundle["slices"]), degraded, ...ownError };
}

export function scopedLaggards(laggards: readonly Laggard[]): readonly Laggard[] {
  return laggards.map(({ id, reason }) => ({ id, reason: withoutRefusal(reason) }));
}

/** @param outcome of changes within the scope */
export function scopedOutcome<Outcome extends PublishOutcome | Validated>(
  outcome: Outcome,
  scope: PublishScope,
): Outcome {
  const isSeen = (file: string): boolean => {
    const owner = file.slice(publishedName("").length);
    return file === publishedName(owner) && scope.covers(owner);
  };
  const isOwn = ({ file }: Problem): boolean => isSeen(file);
  const seen = (problem: Problem): Problem => seenProblem(problem, isSeen);
  if (outcome.ok) {
    const laggards = "laggards" in outcome && { laggards: scopedLaggards(outcome.laggards) };
    return { ...outcome, ...laggards, warnings: outcome.warnings.map(seen) };
  }
  if (outcome.reason !== "invalid") return outcome;
  const own = outcome.problems.filter(isOwn).map(seen);
  const isElsewhere = outcome.problems.some((problem) => problem.severity === "error" && !isOwn(problem));
  const elsewhere: Problem = { severity: "error", file: "elsewhere", path: [], message: ELSEWHERE };
  return { ...outcome, problems: isElsewhere ? [...own, elsewhere] : own };
}

/** Tokens belong to entries and jobs, not to users. */
export function callerOf({ caller, headers }: Pick<AdminRequest, "caller" | "headers">): Publishing {
  const program = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}/.exec(headers["user-agent"] ?? "")?.[0];
  const claim = headers["gateway-claim"];
  return { by: caller, program, claim: typeof claim === "string" ? claim : undefined };
}
