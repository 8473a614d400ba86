/** `gateway <kind> list` and `show` of every kind of stored objects, from its description (`administration/`). */
import { emailsFor, rowOf, wordsOf, type Kind } from "../../administration/kind.ts";
import { KINDS } from "../../administration/kinds.ts";
import { onlyOf, withAdministration, type Administration } from "./administration.ts";
import { forEachNamed, printLine, printRows, type OutputRow } from "./output.ts";

export interface ListOptions {
  readonly config: string;
  /** ID or email address. */
  readonly user?: string;
  readonly client?: string;
  readonly json?: boolean;
}

const PAGE = 200;

/** @param name of the kind @returns exit code */
export function listObjects(name: string, options: ListOptions): Promise<number> {
  const kind = kindNamed(name);
  return withAdministration(options.config, async (administration) => {
    const things = await thingsOf(kind, administration, options);
    printRows(await rowsOf(kind, administration, things, options.json === true), options.json === true, kind.none);
    return 0;
  });
}

/** @param name of the kind @returns exit code; 1 when the object does not exist */
export function showObject(name: string, id: string, options: ListOptions): Promise<number> {
  const kind = kindNamed(name);
  return withAdministration(options.config, async (administration) => {
    const found = await forEachNamed([id], wordsOf(kind), async () => {
      const thing = await kind.find(administration, id);
      const [row] = thing ? await rowsOf(kind, administration, [thing], true) : [];
      if (!row) return false;
      if (options.json === true) printLine(JSON.stringify(row, null, 2));
      else
        printRows(
          Object.entries(row).map(([field, value]) => ({ field, value })),
          false,
          "",
        );
      return true;
    });
    return found === 1 ? 0 : 1;
  });
}

/** @param name of the kind @returns exit code; 1 when one does not exist */
export function revokeObjects(name: string, ids: readonly string[], options: ListOptions): Promise<number> {
  const kind = kindNamed(name);
  return withAdministration(options.config, async (administration) => {
    const print = (thing: object): void => printLine(`${wordsOf(kind)} ${kind.idOf(thing)} ended`);
    return (await endNamed(kind, administration, ids, print)) === ids.length ? 0 : 1;
  });
}

/** Ends the named objects, each with its record, and reports missing ones. @returns how many were ended */
export function endNamed<T extends object, S>(
  kind: Kind<T, Administration, S>,
  administration: Administration,
  ids: readonly string[],
  print: (thing: T) => void = () => {},
): Promise<number> {
  const end = kind.actions.find(({ path }) => path === "end");
  const asked = { by: "", reason: "", record: administration.record };
  return forEachNamed(ids, wordsOf(kind), async (id) => {
    const thing = await kind.find(administration, id);
    if (thing === undefined || (await end?.run(administration, thing, asked)) === undefined) return false;
    print(thing);
    return true;
  });
}

/** All objects, or those that the options select. */
export async function thingsOf<T extends object, S>(
  kind: Kind<T, Administration, S>,
  administration: Administration,
  { user, client }: ListOptions,
): Promise<readonly T[]> {
  const filters = new Map(client === undefined ? [] : [["client_id", client]]);
  const all: T[] = [];
  for (let after: string | undefined; ;) {
    const { found, next } = await kind.page(administration, { after, limit: PAGE, filters });
    all.push(...found);
    if (next === undefined) break;
    after = next;
  }
  const sorted = kind.inTable ? all.toSorted((a, b) => kind.inTable?.(a, b) ?? 0) : all;
  return onlyOf(administration.store, user, sorted, (thing) => kind.userOf(thing) ?? "");
}

async function rowsOf<T extends object>(
  kind: Kind<T>,
  { store }: Administration,
  things: readonly T[],
  withId: boolean,
): Promise<readonly OutputRow[]> {
  const emails = await emailsFor(kind, store, things);
  return things.map((thing) => {
    const id = kind.idOf(thing);
    const row = rowOf(kind, thing, emails);
    return withId && !Object.values(row).includes(id) ? { id, ...row } : row;
  });
}

function kindNamed(name: string): Kind {
  const kind = KINDS.find((each) => each.name === name);
  if (!kind) throw new Error(`There are no objects of the kind "${name}"`);
  return kind;
}
