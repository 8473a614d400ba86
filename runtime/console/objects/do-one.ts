/** Actions on one object of a kind (`administration/`), for pages that have the objects of several kinds. */
import type { AdminAction } from "../../audit/action-record.ts";
import type { Asked, Kind } from "../../administration/kind.ts";
import { GONE, neighbourOf } from "../ask-once-more.ts";
import type { ActionOutcome, ConsoleRequest } from "../screen.ts";

export interface Doable<D> {
  /** Name of the form's action: "end-session". */
  readonly name: string;
  /** Title and button of the page that asks once more: "Sign out session". */
  readonly title: string;
  readonly effect: string;
  /** In the order of the page, to find the next row. @param userId only this user's */
  ids(deps: D, userId?: string): Promise<readonly string[]>;
  /** @returns undefined: there is none of this id, or it is another user's */
  find(deps: D, id: string, userId?: string): Promise<FoundObject | undefined>;
}

export interface FoundObject {
  /** For the record: "session abc". */
  readonly target: string;
  /** Other fields that identify it. */
  readonly details?: string;
  /** Records itself. @returns what was done; undefined: it was no longer there */
  run(visit: ConsoleRequest, asked: Asked): Promise<string | undefined>;
}

/** @param limit rows of the page */
export function doables<T extends object, D, S>(kind: Kind<T, D, S>, limit: number): readonly Doable<D>[] {
  return kind.actions.map((action) => ({
    name: action.name,
    title: action.title,
    effect: action.effect,
    async ids(deps, userId) {
      const filters = new Map(userId === undefined ? [] : [["user", userId]]);
      return (await kind.page(deps, { limit, filters })).found.map((thing) => kind.idOf(thing));
    },
    async find(deps, id, userId) {
      const thing = await kind.find(deps, id, userId);
      if (!thing || (userId !== undefined && kind.userOf(thing) !== userId)) return undefined;
      const details = action.details?.(thing);
      const target = action.target(thing);
      return { target, ...(details !== undefined && { details }), run: (_, asked) => action.run(deps, thing, asked) };
    },
  }));
}

interface Wanted {
  readonly visit: ConsoleRequest;
  /** "": nothing was named. */
  readonly id: string;
  readonly reason: string;
  readonly userId?: string;
}

/** @param goOn address of the next page for an object: itself, its neighbor if it is gone, or none */
export async function doOne<D extends { readonly recordAction: (action: AdminAction) => void }>(
  deps: D,
  what: Doable<D>,
  { visit, id, reason, userId }: Wanted,
  goOn: (id: string | undefined) => string,
): Promise<ActionOutcome> {
  const found = id === "" ? undefined : await what.find(deps, id, userId);
  if (!found) return GONE;
  const next = what.name.startsWith("end-") ? neighbourOf(await what.ids(deps, userId), id) : id;
  const told = await found.run(visit, askedBy(visit, reason, deps));
  return told === undefined ? GONE : { told, to: goOn(next) };
}

/** An administrator's request, whose record names the administrator by ID. */
export function askedBy(
  { principal: { user } }: Pick<ConsoleRequest, "principal">,
  reason: string,
  { recordAction }: { readonly recordAction: (action: AdminAction) => void },
): Asked {
  const record: Asked["record"] = (action) => recordAction({ ...action, by: user.id, reason });
  return { by: user.email || user.id, reason, record };
}
