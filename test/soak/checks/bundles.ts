/**
 * No answer by an older bundle than the last publication that was answered "live everywhere", and none by one that was refused;
 * at the end all replicas serve the same.
 *
 * A replica that could not learn meanwhile (knownBy) may serve what it had. Publications without an answer may be in force or
 * not. Those answered 202 are in force somewhere: they count at the end.
 */
import type { Disturbance, FaultSpan, Operation } from "../history/history.ts";
import { groupBy, isDone, knownBy, operationsOf, type Check, type Evidence, type Violation } from "./evidence.ts";

/** A process that says nothing for so long does not count as one that serves: `bundle/presence.ts`. */
const SIGN_OF_LIFE_MS = 20_000;

type Publish = Operation<"publish">;

export const BUNDLES: Check = {
  name: "bundles",
  promise: "no answer is by an older bundle than stated, and replicas converge",
  find: (evidence) => {
    const publishes = groupBy(operationsOf(evidence, "publish"), ({ facts }) => facts.owner);
    return [...publishes]
      .flatMap(([owner, all]) => [...olderThanStated(evidence, owner, all), ...differentAtTheEnd(evidence, owner, all)])
      .concat(sameGeneration(operationsOf(evidence, "publish")));
  },
};

/** One of two with the same generation is lost, or will be. */
function sameGeneration(publishes: readonly Publish[]): readonly Violation[] {
  const done = publishes.filter((each) => isDone(each) && each.facts.generation !== undefined);
  return [...groupBy(done, ({ facts }) => String(facts.generation))]
    .filter(([, all]) => all.length > 1)
    .map(([generation, all]) => ({
      text: `${all.length} publications have generation ${generation}`,
      operations: all.map(({ id }) => id),
    }));
}

interface Answered {
  readonly operation: Operation<"request">;
  readonly bundle: number;
}

function answersOf(evidence: Evidence, owner: string): readonly Answered[] {
  return operationsOf(evidence, "request").flatMap((operation) => {
    const { route, bundle } = operation.facts;
    return route === owner && bundle !== undefined ? [{ operation, bundle }] : [];
  });
}

function olderThanStated(evidence: Evidence, owner: string, publishes: readonly Publish[]): readonly Violation[] {
  const byNumber = new Map(publishes.map((each) => [each.facts.number, each]));
  // Of each answer only the newest publication before it matters, and generations grow with time.
  const live = publishes
    .filter((each) => isDone(each) && each.facts.status === 200 && each.facts.generation !== undefined)
    .toSorted((a, b) => a.ended - b.ended);
  const answers = answersOf(evidence, owner).toSorted((a, b) => a.operation.began - b.operation.began);
  const violations: Violation[] = [];
  let next = 0;
  let newest: Publish | undefined;
  for (const { operation, bundle } of answers) {
    for (; (live[next]?.ended ?? Infinity) < operation.began; next += 1) {
      if (generationOf(live[next]) > generationOf(newest)) newest = live[next];
    }
    const by = byNumber.get(bundle);
    const where = operation.replica ?? "some replica";
    const operations = [...(by ? [by.id] : []), operation.id];
    if (by?.outcome === "refused") {
      violations.push({ text: `${where} served ${owner} ${bundle}, whose publication was refused`, operations });
    } else if (newest && by?.facts.generation !== undefined && generationOf(by) < generationOf(newest)) {
      if (couldLag(evidence, operation, newest)) continue;
      const text = `${where} served ${owner} ${bundle} after ${newest.facts.number} was said to be live everywhere`;
      violations.push({ text, operations: [...operations, newest.id] });
    }
  }
  return violations;
}

function generationOf(publish: Publish | undefined): number {
  return publish?.facts.generation ?? 0;
}

/** The replica may have shown no sign of life when the publisher counted, and not have learnt of it since. */
function couldLag(
  { faults, slackMs = 0 }: Evidence,
  { replica, began }: Operation<"request">,
  publish: Publish,
): boolean {
  const since = publish.began - SIGN_OF_LIFE_MS;
  const all = asDeaf(faults);
  return all
    .filter((fault) => fault.began <= publish.ended && fault.ended >= since)
    .filter(({ replicas }) => replica === undefined || replicas.includes(replica))
    .some((fault) => began <= knownBy(all, replica, fault.began, slackMs));
}

/** More keeps a replica from a new bundle than from news about rights. */
function asDeaf(faults: readonly FaultSpan[]): readonly FaultSpan[] {
  const late: readonly Disturbance[] = ["store", "writes", "stopped", "killed", "clock", "bundle"];
  return faults
    .filter(({ disturbs }) => disturbs.some((each) => late.includes(each)))
    .map((fault) => ({ ...fault, disturbs: ["store"] }));
}

function differentAtTheEnd(evidence: Evidence, owner: string, publishes: readonly Publish[]): readonly Violation[] {
  const looks = operationsOf(evidence, "look").filter(({ facts }) => facts.what === "publish" && facts.id === owner);
  const served = new Set(looks.map(({ facts }) => facts.bundle));
  const operations = looks.map(({ id }) => id);
  if (served.size > 1) {
    const each = looks.map(({ replica, facts }) => `${replica ?? "some replica"}: ${facts.bundle}`);
    return [{ text: `replicas serve different bundles of ${owner} at the end: ${each.join(", ")}`, operations }];
  }
  const [bundle] = served;
  const last = publishes
    .filter(isDone)
    .toSorted((a, b) => generationOf(a) - generationOf(b))
    .at(-1);
  const by = publishes.find(({ facts }) => facts.number === bundle);
  if (looks.length === 0 || !last || (by && by.facts.generation === undefined && by.outcome === "unknown")) return [];
  if (by && generationOf(by) >= generationOf(last)) return [];
  return [
    {
      text: `${owner} ${last.facts.number} was acknowledged, at the end ${bundle} is served`,
      operations: [...operations, last.id],
    },
  ];
}
