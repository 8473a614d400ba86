/** The action of most kinds: ends the object, and leaves a record. */
import { digestOf } from "../shared/canonical-json.ts";
import type { Action, Asked } from "./kind.ts";

interface Ending<T, D> extends Pick<Action<T, D>, "title" | "effect" | "target" | "details"> {
  /** State before, for the record; default: the digest of the object. */
  before?(deps: D, thing: T): string | undefined | Promise<string>;
  /** @returns false when it no longer existed */
  end(deps: D, thing: T, asked: Asked): Promise<boolean>;
}

/** @param name in the console's form: "end-session" */
export function ending<T extends object, D>(name: string, of: Ending<T, D>): Action<T, D> {
  return {
    name,
    path: "end",
    title: of.title,
    effect: of.effect,
    role: "operator",
    isSensitive: true,
    target: of.target,
    ...(of.details && { details: of.details }),
    async run(deps, thing, asked) {
      const before = of.before ? await of.before(deps, thing) : digestOf(thing);
      if (!(await of.end(deps, thing, asked))) return undefined;
      await asked.record({ action: "revoke", target: of.target(thing), before, after: null });
      return `Done: ${of.title.toLowerCase()}.`;
    },
  };
}
