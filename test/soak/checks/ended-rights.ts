/** What was taken away lets nobody in once every process must know of it. */
import type { Operation } from "../history/history.ts";
import type { Credential } from "../history/operations.ts";
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

export const ENDED_RIGHTS: Check = {
  name: "ended-rights",
  promise: "nothing is allowed after an acknowledged revocation, block or sign-out plus the stated bound",
  find: (evidence) => {
    const rights = rightsOf(evidence);
    return usesOf(evidence).flatMap((use) => [
      ...afterItsEnd(evidence, rights, use),
      ...whileBlocked(evidence, rights, use),
    ]);
  },
};

/** Something that was allowed. */
interface Use {
  readonly id: number;
  readonly what: string;
  readonly replica: string | undefined;
  /** It was decided no earlier … */
  readonly at: number;
  /** … and no later. */
  readonly ended: number;
  /** Whose right let it in. */
  readonly by: Credential;
  /** Signing in, consenting, a grant's first tokens: only a block stands against them. */
  readonly isNew: boolean;
}

function usesOf(evidence: Evidence): readonly Use[] {
  return evidence.operations.filter(isDone).flatMap((operation): readonly Use[] => {
    const { id, kind: what, replica, began: at, ended } = operation;
    const use = { id, what, replica, at, ended, isNew: false };
    switch (operation.kind) {
      case "request":
        return [{ ...use, by: operation.facts }];
      case "stream":
        // Let in when it began, and again with each byte.
        return [at, operation.facts.lastByteAt ?? at].map((time) => ({
          ...use,
          by: operation.facts,
          at: time,
          ended: time,
        }));
      case "redeem":
        return [{ ...use, by: operation.facts, isNew: operation.facts.what === "code" }];
      case "sign-in":
      case "consent":
        return [{ ...use, by: { user: operation.facts.user }, isNew: true }];
      default:
        return [];
    }
  });
}

type End = Operation<"revoke"> | Operation<"sign-out">;

interface Block {
  readonly block: Operation<"block">;
  /** The first call that may have lifted it. */
  readonly until: number;
}

interface Rights {
  /** Acknowledged ends by what they end: "session browser-1.3". */
  readonly ends: ReadonlyMap<string, readonly End[]>;
  /** When a session or grant was there for certain, by the same names. */
  readonly born: ReadonlyMap<string, number>;
  /** By user. */
  readonly blocks: ReadonlyMap<string, readonly Block[]>;
}

function rightsOf(evidence: Evidence): Rights {
  const ends: readonly End[] = [...operationsOf(evidence, "revoke"), ...operationsOf(evidence, "sign-out")].filter(
    isDone,
  );
  const born = new Map<string, number>();
  for (const { facts, ended } of operationsOf(evidence, "sign-in").filter(isDone))
    born.set(`session ${facts.session}`, ended);
  for (const { facts, ended } of operationsOf(evidence, "redeem").filter(isDone)) {
    if (facts.what === "code" && facts.grant !== undefined) born.set(`grant ${facts.grant}`, ended);
  }
  const lifts = operationsOf(evidence, "unblock").filter(mayBeDone);
  const blocks = operationsOf(evidence, "block")
    .filter(isDone)
    .map((block): Block => {
      const later = lifts.filter(({ facts, ended }) => facts.user === block.facts.user && ended > block.began);
      return { block, until: Math.min(Infinity, ...later.map(({ began }) => began)) };
    });
  return {
    ends: groupBy(ends, (end) =>
      end.kind === "revoke" ? `${end.facts.right} ${end.facts.target}` : `session ${end.facts.session}`,
    ),
    born,
    blocks: groupBy(blocks, ({ block }) => block.facts.user),
  };
}

function afterItsEnd(evidence: Evidence, { ends, born }: Rights, use: Use): readonly Violation[] {
  if (use.isNew) return [];
  const { session, grant, user } = use.by;
  const names = [`session ${session}`, `grant ${grant}`];
  // All of a user's are those that were there before it was asked for: what came meanwhile may have been spared.
  const wide = (ends.get(`user ${user}`) ?? []).filter(({ began }) =>
    names.some((name) => (born.get(name) ?? Infinity) < began),
  );
  return [...names.flatMap((name) => ends.get(name) ?? []), ...wide]
    .filter(({ ended }) => use.at > knownBy(evidence.faults, use.replica, ended, evidence.slackMs))
    .map((end) =>
      violation(use, end, end.kind === "revoke" ? `${end.facts.right} ${end.facts.target} was revoked` : "sign-out"),
    );
}

function whileBlocked(evidence: Evidence, { blocks }: Rights, use: Use): readonly Violation[] {
  return (blocks.get(use.by.user ?? "") ?? [])
    .filter(({ until }) => use.ended < until)
    .filter(({ block }) => use.at > knownBy(evidence.faults, use.replica, block.ended, evidence.slackMs))
    .map(({ block }) => violation(use, block, `${block.facts.user} was blocked`));
}

function violation({ id, what, replica = "some replica", at }: Use, end: Operation, event: string): Violation {
  return {
    text: `${replica} allowed ${what} ${id} ${Math.round(at - end.ended)} ms after ${event} (${end.id})`,
    operations: [end.id, id],
  };
}
