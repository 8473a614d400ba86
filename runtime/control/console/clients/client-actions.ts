/** What is done about clients and machines: they are ended as their descriptions say, each with a record. */
import { CLIENT } from "../../../administration/client.ts";
import type { Asked, Kind } from "../../../administration/kind.ts";
import { PUBLISH_TOKEN } from "../../../administration/publish-token.ts";
import { SERVICE_ACCOUNT } from "../../../administration/service-account.ts";
import { confirmForm } from "../../../pages/console/pieces.ts";
import { addressOfId, addressOfList, idOfPath } from "../addresses.ts";
import { GONE, neighbourOf, readReason } from "../ask-once-more.ts";
import type { ActionOutcome, ScreenAction, ScreenPage, Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import type { ClientsDeps } from "./clients.ts";
import { MACHINES_PAGE } from "./list-machines.ts";

interface Ended {
  /** Of the form. */
  readonly name: string;
  readonly title: string;
  readonly effect: string;
  /** Undefined: there is none of this id. */
  find(deps: ClientsDeps, id: string): Promise<Found | undefined>;
  /** Of the page that it is ended on. */
  address(id: string): string;
  /** Where to go on. */
  next(deps: ClientsDeps, id: string): Promise<string>;
}

interface Found {
  readonly target: string;
  readonly details: string;
  /** Records itself. @returns what was done; undefined: it was not there any more */
  run(asked: Asked): Promise<string | undefined>;
}

/** By the part of the address below the screen's. */
const ENDS: ReadonlyMap<string, Ended> = new Map([
  [
    "client",
    {
      ...ended(CLIENT),
      address: (id: string) => addressOfId("clients/client", id),
      next: () => Promise.resolve(`${addressOfList("clients")}#main`),
    },
  ],
  ["accounts", { ...ended(SERVICE_ACCOUNT), ...inList("accounts", SERVICE_ACCOUNT) }],
  ["tokens", { ...ended(PUBLISH_TOKEN), ...inList("tokens", PUBLISH_TOKEN) }],
]);

function ended<T extends object, S>(kind: Kind<T, ClientsDeps, S>): Pick<Ended, "name" | "title" | "effect" | "find"> {
  const end = kind.actions.find(({ path }) => path === "end");
  if (!end) throw new Error(`Nothing ends a ${kind.name}`);
  const { name, title, effect } = end;
  return {
    name,
    title,
    effect,
    async find(deps, id) {
      const thing = await kind.find(deps, id);
      if (!thing) return undefined;
      const details = end.details?.(thing) ?? "";
      return { target: end.target(thing), details, run: (asked) => end.run(deps, thing, asked) };
    },
  };
}

function inList<T extends object, S>(list: string, kind: Kind<T, ClientsDeps, S>): Pick<Ended, "address" | "next"> {
  const address = addressOfList(`clients/${list}`);
  return {
    address: () => address,
    async next(deps, id) {
      const { found } = await kind.page(deps, { limit: MACHINES_PAGE, filters: new Map() });
      const neighbour = neighbourOf(
        found.map((thing) => kind.idOf(thing)),
        id,
      );
      return `${address}#${neighbour === undefined ? "main" : `end-${neighbour}`}`;
    },
  };
}

export function clientActions(deps: ClientsDeps): Readonly<Record<string, ScreenAction>> {
  const actions = [...ENDS.values()].map((of): readonly [string, ScreenAction] => [
    of.name,
    { role: "operator", isGrave: true, name: of.title, run: (visit, form) => end(deps, of, visit, form) },
  ]);
  return Object.fromEntries(actions);
}

async function end(
  deps: ClientsDeps,
  what: Ended,
  { principal: { user } }: Visit,
  form: ReadonlyMap<string, string>,
): Promise<ActionOutcome> {
  const reason = readReason(form);
  if (!reason.ok) return reason;
  const id = form.get("of") ?? "";
  const found = id === "" ? undefined : await what.find(deps, id);
  if (!found) return GONE;
  const to = await what.next(deps, id);
  const record: Asked["record"] = (action) => deps.recordAction({ ...action, by: user.id, reason: reason.value });
  const told = await found.run({ by: user.email || user.id, reason: reason.value, record });
  return told === undefined ? GONE : { told, to };
}

/** The page that asks once more. @returns undefined: there is nothing to end, or this person may not */
export async function confirmEnd(deps: ClientsDeps, visit: Visit): Promise<ScreenPage | undefined> {
  const [list = "", ...rest] = visit.path;
  const what = ENDS.get(list);
  if (!what || !visit.rights.may("operator")) return undefined;
  const id = (list === "client" ? idOfPath(rest) : visit.query.get("of")) ?? "";
  const found = id === "" ? undefined : await what.find(deps, id);
  if (!found) return undefined;
  const address = what.address(id);
  const body = confirmForm({
    action: address,
    name: what.name,
    csrfToken: visit.csrf(what.name),
    fields: [["of", id]],
    button: what.title,
    text: `${what.effect} It is done to ${strange(found.target, 500)}, ${strange(found.details, 500)}.`,
    asksReason: true,
    back: address,
  });
  return { title: what.title, body };
}
