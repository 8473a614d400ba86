/** Responses to publishers: results of changes, and problems in them. */
import { docsOfSetting } from "../../config/surfaces/documentation.ts";
import { formatProblem, type Problem } from "../../config/load.ts";
import { formatPath } from "../../settings/problem.ts";
import type { CurrentSlice } from "../../bundle/publication.ts";
import type { PublishOutcome, Validated } from "../../bundle/publisher.ts";
import { publishedName } from "../../bundle/validation/protocol.ts";
import { json, type AdminReply } from "../answer.ts";

/** @param owners of several slices sent together */
export function answerOutcome(
  owner: string | undefined,
  outcome: PublishOutcome,
  owners: ReadonlySet<string> = NOBODY,
): AdminReply {
  if (!outcome.ok) {
    switch (outcome.reason) {
      case "stale":
        return outcome.isClaimed ? claimed(outcome.owner) : stale(outcome.owner, outcome.current);
      case "invalid":
        return invalid(owner, outcome.problems, owners);
      case "no-such-generation":
        return json(409, { error: "generation", message: outcome.message });
      default:
        return outcome satisfies never;
    }
  }
  const { changed, generation, slices, warnings, replicas, laggards } = outcome;
  const live = laggards.length === 0;
  const digest = owner === undefined ? undefined : (slices.get(owner) ?? null);
  const etag: Record<string, string> = typeof digest === "string" ? { etag: `"${digest}"` } : {};
  const published = { owner, digest, slices: Object.fromEntries(slices), changed, generation };
  return json(
    live ? 200 : 202,
    { ...published, live, replicas, laggards, warnings: warnings.map((problem) => problemOf(owner, problem, owners)) },
    etag,
  );
}

/** Result that a PUT of the slice with this digest would have. */
export function answerValidated(owner: string, digest: string, outcome: Validated): AdminReply {
  if (!outcome.ok) return invalid(owner, outcome.problems);
  const { changed, warnings } = outcome;
  return json(200, { owner, digest, changed, warnings: warnings.map((problem) => problemOf(owner, problem, NOBODY)) });
}

function claimed(owner: string): AdminReply {
  const message = `The slice of owner "${owner}" was not removed: another resource has published it`;
  return json(409, { error: "claimed", message });
}

function stale(owner: string, current: CurrentSlice | undefined): AdminReply {
  const state = current
    ? `is now ${current.digest.slice(0, 12)}…, published as generation ${current.generation} at ${new Date(current.at * 1000).toISOString()}`
    : "is not there";
  const instruction = current
    ? "another publication changed it: read the published slice, merge your change and publish again"
    : "it was removed, or never published: publish it as a new slice";
  const message = `The slice of owner "${owner}" ${state}; ${instruction}`;
  return json(412, {
    error: "changed",
    message,
    digest: current?.digest ?? null,
    generation: current?.generation ?? null,
  });
}

export function invalid(
  owner: string | undefined,
  problems: readonly Problem[],
  owners: ReadonlySet<string> = NOBODY,
): AdminReply {
  const lines = problems.filter(({ severity }) => severity === "error").map(formatProblem);
  const message = `The configuration would not be valid, nothing was changed:\n${lines.join("\n")}`;
  return json(422, {
    error: "invalid",
    message,
    problems: problems.map((problem) => problemOf(owner, problem, owners)),
  });
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * `source` only for a problem outside the sent slices; with several of them, `owner` names the slice. Of `rivals` only
 * those in the message.
 */
function problemOf(
  owner: string | undefined,
  { file, path, rivals = [], ...rest }: Problem,
  owners: ReadonlySet<string>,
): object {
  const named = rivals.flatMap((each) => (each.around ? [{ ...each, path: formatPath(each.path) }] : []));
  const docs = docsOfSetting(path);
  const problem = {
    ...rest,
    path: formatPath(path),
    ...(named.length > 0 && { rivals: named }),
    ...(docs !== undefined && { docs }),
  };
  const sent = [...owners].find((each) => file === publishedName(each));
  if (sent !== undefined) return { ...problem, owner: sent };
  return owner !== undefined && file === publishedName(owner) ? problem : { ...problem, source: file };
}
