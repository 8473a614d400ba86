/**
 * What was acknowledged is there at the end, and what was ended is not: looks at all replicas after all faults are healed.
 *
 * What has an operation without an answer behind its last acknowledged one may be there or not. So may a session at the end of
 * its life, and a grant whose client cannot know whether it holds the newest refresh token, or whose code or refresh token it
 * sent again late: the gateway ends those by its own rules (OAuth 2.1 §4.1.3, §4.3.1).
 */
import type { Operation } from "../history/history.ts";
import type { Kind } from "../history/operations.ts";
import {
  groupBy,
  isDone,
  knownBy,
  mayBeDone,
  operationsOf,
  type Check,
  type Evidence,
  type Violation,
} from "./evidence.ts";

/** Expiry is not timed here. */
const NEAR_ITS_END_MS = 30_000;
/** Sent again so long after the first time, a refresh token may be taken for a stolen one. */
const SENT_AGAIN_LATE_MS = 25_000;

/** What processes are told of; all else is in the store when it is asked for. */
const HEARD_OF: readonly Kind[] = ["revoke", "sign-out", "block", "unblock", "disconnect"];

type Look = Operation<"look">;
/** Undefined: may be there or not. */
type Expected = boolean | undefined;

export const NOTHING_LOST: Check = {
  name: "nothing-lost",
  promise: "no acknowledged revocation, block, grant, consent, connection or session is lost",
  find: (evidence) => {
    const expect = expectations(evidence);
    return operationsOf(evidence, "look").flatMap((look) => judge(look, expect));
  },
};

function judge(look: Look, expect: (look: Look) => Expected): readonly Violation[] {
  const { what, id, found } = look.facts;
  const where = look.replica ?? "some replica";
  if (look.outcome !== "ok" || found === undefined) {
    return [{ text: `${where} did not say whether ${what} ${id} is there`, operations: [look.id] }];
  }
  const expected = expect(look);
  if (expected === undefined || expected === found) return [];
  const text = expected ? `${what} ${id} is lost at ${where}` : `${what} ${id} is still there at ${where}`;
  return [{ text, operations: [look.id] }];
}

/** Whether the last of these that was acknowledged made it or ended it, where that is certain. */
interface Change {
  readonly makes: boolean;
  readonly operation: Operation;
}

function lastOf(changes: readonly Change[]): Expected {
  const done = changes
    .filter(({ operation }) => isDone(operation))
    .toSorted((a, b) => a.operation.ended - b.operation.ended);
  const last = done.at(-1);
  if (!last) return changes.some(({ makes, operation }) => makes && mayBeDone(operation)) ? undefined : false;
  // Whatever may have taken effect after it was called decides, where it says something else.
  const isCertain = changes.every(
    ({ makes, operation }) => makes === last.makes || !mayBeDone(operation) || operation.ended < last.operation.began,
  );
  return isCertain ? last.makes : undefined;
}

function expectations(evidence: Evidence): (look: Look) => Expected {
  const changes = groupBy(changesOf(evidence), ([name]) => name);
  const redeems = operationsOf(evidence, "redeem");
  const byGrant = groupBy(redeems, ({ facts }) => facts.grant ?? "");
  const byValue = groupBy(redeems, ({ facts }) => `${facts.what} ${facts.value}`);
  const endings = new Set(
    operationsOf(evidence, "revoke")
      .filter(({ facts }) => facts.right === "user")
      .map(({ facts }) => facts.target),
  );
  const signIns = new Map(operationsOf(evidence, "sign-in").map((each) => [each.facts.session, each]));
  const owners = ownersOf(evidence);
  const changesTo = (name: string): readonly Change[] => (changes.get(name) ?? []).map(([, change]) => change);
  return (look) => {
    const { what, id } = look.facts;
    if (what === "publish") return true;
    const user = owners.get(`${what} ${id}`) ?? id.split(" ", 1)[0] ?? "";
    const [own, blocks] = [changesTo(`${what} ${id}`), what === "block" ? [] : changesTo(`block ${user}`)];
    if ([...own, ...blocks].some(({ operation }) => isNewsAt(evidence, look, operation))) return undefined;
    const expected = lastOf(own);
    if (expected !== true) return expected;
    // Who is blocked is let in by nothing, and loses nothing.
    if (what !== "block" && lastOf(blocks) !== false) return undefined;
    // Consents that had grants go with these.
    if (what === "consent" && endings.has(user)) return undefined;
    if (what === "session") {
      const began = signIns.get(id)?.began ?? 0;
      return look.began - began < evidence.sessionSeconds * 1_000 - NEAR_ITS_END_MS ? true : undefined;
    }
    if (what === "grant") {
      const all = byGrant.get(id) ?? [];
      return all.some((each) => isDoubtful(each, byValue) || isByWrongClock(evidence, each)) ? undefined : true;
    }
    return true;
  };
}

/** The replica need not have heard of it yet. */
function isNewsAt({ faults, slackMs }: Evidence, look: Look, { kind, ended }: Operation): boolean {
  return HEARD_OF.includes(kind) && ended <= look.began && look.began <= knownBy(faults, look.replica, ended, slackMs);
}

/** To another replica a refresh token may look used long ago, so stolen (failure-modes.md, `clock-stepped`). */
function isByWrongClock({ faults, hasOneClock = true }: Evidence, { began, ended }: Operation<"redeem">): boolean {
  if (hasOneClock) return false;
  const steps = faults.filter(({ disturbs }) => disturbs.includes("clock"));
  // Its processes take a step within a second or two.
  return steps.some((step) => began <= step.ended + SENT_AGAIN_LATE_MS && ended >= step.began);
}

/** After this operation the grant may have ended by the rules. */
function isDoubtful(
  { outcome, facts }: Operation<"redeem">,
  byValue: ReadonlyMap<string, readonly Operation<"redeem">[]>,
): boolean {
  if (outcome === "unknown") return true;
  const all = byValue.get(`${facts.what} ${facts.value}`) ?? [];
  const first = Math.min(...all.filter(isDone).map(({ ended }) => ended));
  return facts.what === "code" ? all.length > 1 : all.some(({ began }) => began > first + SENT_AGAIN_LATE_MS);
}

function changesOf(evidence: Evidence): readonly (readonly [name: string, change: Change])[] {
  const owned = groupBy([...ownersOf(evidence)], ([, user]) => user);
  return evidence.operations.flatMap((operation): readonly (readonly [string, Change])[] => {
    const change = (name: string, makes: boolean): readonly [string, Change] => [name, { makes, operation }];
    switch (operation.kind) {
      case "sign-in":
        return operation.facts.session === undefined ? [] : [change(`session ${operation.facts.session}`, true)];
      case "sign-out":
        return [change(`session ${operation.facts.session}`, false)];
      case "redeem": {
        const { what, grant } = operation.facts;
        return what === "code" && grant !== undefined ? [change(`grant ${grant}`, true)] : [];
      }
      case "revoke": {
        const { right, target, withdraws } = operation.facts;
        const ended = right === "user" ? (owned.get(target) ?? []).map(([name]) => name) : [`${right} ${target}`];
        return [...ended, ...(withdraws === undefined ? [] : [`consent ${withdraws}`])].map((name) =>
          change(name, false),
        );
      }
      case "consent":
        return [change(`consent ${operation.facts.user} ${operation.facts.client}`, true)];
      case "connect":
      case "disconnect":
        return [change(`connection ${operation.facts.user} ${operation.facts.route}`, operation.kind === "connect")];
      case "block":
      case "unblock":
        return [change(`block ${operation.facts.user}`, operation.kind === "block")];
      default:
        return [];
    }
  });
}

/** Whose sessions and grants are: "session browser-1.3" → user. */
function ownersOf(evidence: Evidence): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const { facts } of operationsOf(evidence, "sign-in")) {
    if (facts.session !== undefined) owners.set(`session ${facts.session}`, facts.user);
  }
  for (const { facts } of operationsOf(evidence, "redeem")) {
    if (facts.what === "code" && facts.grant !== undefined) owners.set(`grant ${facts.grant}`, facts.user ?? "");
  }
  return owners;
}
