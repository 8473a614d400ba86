/**
 * Each request has one authorization record: not none, not two.
 *
 * A request whose answer did not come has at most one. Where processes are killed, those that were answered 0.1 s before may have
 * none (operations/audit.md), or since their records could not be written.
 */
import type { FaultSpan, Operation } from "../history/history.ts";
import { UNTAGGED } from "../history/operations.ts";
import { groupBy, operationsOf, type Check, type Evidence } from "./evidence.ts";

/** 0.1 s of records, and 0.4 s in which a busy machine lets neither the timer of a batch nor the kill come at their time. */
const UNWRITTEN_MS = 500;

type Asked = Operation<"request"> | Operation<"stream">;

export const ONE_RECORD: Check = {
  name: "one-record",
  promise: "each request has exactly one authorization record, except within the stated interval before a kill",
  find: (evidence) => {
    const records = groupBy(evidence.records, ({ tag }) => tag);
    const asked: readonly Asked[] = [...operationsOf(evidence, "request"), ...operationsOf(evidence, "stream")];
    const tagged = asked.filter(({ facts }) => facts.tag !== UNTAGGED);
    return [...groupBy(tagged, ({ facts }) => facts.tag)].flatMap(([tag, all]) => {
      const found = records.get(tag)?.length ?? 0;
      const least = all.filter((each) => isDecided(each) && !mayBeUnwritten(evidence, each)).length;
      if (found >= least && found <= all.length) return [];
      const text = `${all.length} requests with the tag ${tag} have ${found} records, must be ${least} to ${all.length}`;
      return [{ text, operations: all.map(({ id }) => id) }];
    });
  },
};

/**
 * Of a host that no route has (404 or 421), or with a path that none has (404), nothing is decided. A tool call whose token is worth
 * nothing is refused before it is read: its record shows no tag.
 */
function isDecided({ outcome, facts: { status, how } }: Asked): boolean {
  return outcome !== "unknown" && status !== 421 && status !== 404 && !(how === "tool" && status === 401);
}

function mayBeUnwritten({ faults, slackMs = 0 }: Evidence, { replica, ended, facts }: Asked): boolean {
  // A stream's decision is older than its end.
  const from = "lastByteAt" in facts ? 0 : ended;
  return faults
    .filter(
      ({ disturbs, replicas }) => disturbs.includes("killed") && (replica === undefined || replicas.includes(replica)),
    )
    .some((kill) => ended >= unwrittenSince(faults, kill) - slackMs && from <= kill.ended);
}

/** While records cannot be written they wait in the process, and go with it. */
function unwrittenSince(faults: readonly FaultSpan[], { began, replicas }: FaultSpan): number {
  const blocked = faults.filter(
    (each) =>
      each.disturbs.includes("records") &&
      each.began <= began &&
      each.ended >= began - UNWRITTEN_MS &&
      each.replicas.some((name) => replicas.includes(name)),
  );
  return Math.min(began, ...blocked.map((each) => each.began)) - UNWRITTEN_MS;
}

/** The tag of a line of a record file. @returns undefined where it is no record of a request with a tag, or was cut off by a kill */
export function tagOf(line: string): string | undefined {
  try {
    const record = JSON.parse(line) as {
      readonly message?: string;
      readonly path?: string;
      readonly "mcp-tool-parameters"?: { readonly tag?: unknown };
    };
    if (record.message !== "authorize check") return undefined;
    const tag = record["mcp-tool-parameters"]?.tag ?? /\/t\/([\w.-]+)/.exec(record.path ?? "")?.[1];
    return typeof tag === "string" ? tag : undefined;
  } catch {
    return undefined;
  }
}
