/** The screen of a kind that has one of its own (`administration/`): its list, the form that makes one, and the pages that ask again. */
import type { AdminAction } from "../../audit/action-record.ts";
import {
  emailsFor,
  type Action,
  type Asked,
  type Creation,
  type Kind,
  type KindDeps,
  type Named,
  type OwnScreen,
  type Seen,
  type ShownKind,
} from "../../administration/kind.ts";
import { KINDS } from "../../administration/kinds.ts";
import { actionLink, creationForm, objectsBody } from "../../pages/console/objects.ts";
import { confirmForm } from "../../pages/console/pieces.ts";
import { GatewayError } from "../../shared/errors.ts";
import { addressOfList } from "../addresses.ts";
import { readReason } from "../ask-once-more.ts";
import type { ActionOutcome, Screen, ScreenAction, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { askedBy } from "./do-one.ts";
import { objectTable } from "./object-table.ts";

export interface ObjectScreenDeps extends KindDeps {
  readonly recordAction: (action: AdminAction) => void;
}

type Form = ReadonlyMap<string, string>;

const MOST_SHOWN = 200;
/** Text that a search compares. */
const MAX_PAGES = 25;

/** All kinds with a screen, in the order of the list of kinds. */
export function objectScreens(deps: ObjectScreenDeps): readonly Screen[] {
  const own = KINDS.filter(({ screen }) => screen) as readonly OwnKind[];
  return own.map((kind) => objectScreen(kind, deps));
}

export type OwnKind = ShownKind<object> & { readonly screen: OwnScreen };

export function objectScreen(kind: OwnKind, deps: ObjectScreenDeps): Screen {
  const { creation, actions, screen: own } = kind;
  const path = addressOfList(kind.plural);

  const showCreation = (
    visit: ConsoleRequest,
    { name, path: below, title, button = title, effect, inputs }: Creation<KindDeps>,
  ): ScreenPage => ({
    title,
    body: creationForm({
      action: `${path}/${below}`,
      name,
      csrfToken: visit.csrf(name),
      text: effect,
      inputs: inputs.map((each) => ({ ...each, value: visit.query.get(each.name) ?? each.values?.[0] ?? "" })),
      button,
      back: path,
    }),
  });

  const showAction = async (
    visit: ConsoleRequest,
    action: Action<object, KindDeps>,
  ): Promise<ScreenPage | undefined> => {
    const { id } = namedBy(kind, (name) => visit.query.get(name) ?? "");
    const thing = await kind.find(deps, id);
    if (!thing || !visit.rights.may(action.role, kind.ownerOf(thing))) return undefined;
    const { name, title, button = title, effect } = action;
    const body = confirmForm({
      action: `${path}/${action.path}`,
      name,
      csrfToken: visit.csrf(name),
      fields: fieldsOf(kind, thing),
      button,
      text: action.text?.(thing) ?? effect,
      asksReason: true,
      back: path,
    });
    return { title: action.heading?.(thing) ?? title, body };
  };

  const screenAction = (
    { name, title, role, isSensitive }: Pick<Action<object, KindDeps>, "name" | "title" | "role" | "isSensitive">,
    ownerOf: (form: Form) => string | undefined | Promise<string | undefined>,
    run: (form: Form, asked: Asked) => Promise<ActionOutcome>,
  ): readonly [string, ScreenAction] => [
    name,
    {
      role,
      isSensitive,
      name: title,
      ownerOf: (_, form) => ownerOf(form),
      async run(visit, form) {
        const reason = readReason(form, kind.needsReason);
        if (!reason.ok) return reason;
        try {
          return await run(form, askedBy(visit, reason.value, deps));
        } catch (error) {
          if (!(error instanceof GatewayError) || error.code !== kind.wrong) throw error;
          return { refused: showUntrusted(error.message, 400) };
        }
      },
    },
  ];

  const trimmed = (form: Form) => (name: string) => form.get(name)?.trim() ?? "";
  return {
    path: kind.plural,
    name: own.name,
    group: own.group,
    icon: own.icon,
    ...(own.isUnowned && { isFor: (rights) => rights.may("viewer") }),
    async show(visit) {
      const [page, ...more] = visit.path;
      if (more.length > 0) return undefined;
      if (page === undefined) return showList(kind, deps, visit);
      if (creation && page === creation.path)
        return mayMake(visit, creation) ? showCreation(visit, creation) : undefined;
      const action = actions.find((each) => each.path === page);
      return action && showAction(visit, action);
    },
    actions: Object.fromEntries([
      ...actions.map((action) =>
        screenAction(
          action,
          async (form) => {
            const { id, owner } = namedBy(kind, trimmed(form));
            if (kind.byForm) return owner;
            const thing = await kind.find(deps, id);
            return thing && kind.ownerOf(thing);
          },
          async (form, asked) => {
            const { id, gone } = namedBy(kind, trimmed(form));
            const thing = await kind.find(deps, id);
            const told = thing && (await action.run(deps, thing, asked));
            return told === undefined ? { refused: gone } : { told, to: path };
          },
        ),
      ),
      ...(creation
        ? [
            screenAction(
              creation,
              (form) => creation.ownerOf(valuesOf(creation, form)),
              async (form, asked) => ({
                told: (await creation.run(deps, valuesOf(creation, form), asked)).told,
                to: path,
              }),
            ),
          ]
        : []),
    ]),
  };
}

async function listFor(
  kind: Kind,
  deps: KindDeps,
  { rights, query }: ConsoleRequest,
  text: string,
): Promise<readonly object[]> {
  const filters = new Map(kind.filters.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? ""]] : [])));
  const wanted = text.toLowerCase();
  const isMeant = (thing: object): boolean =>
    rights.may("viewer", kind.ownerOf(thing)) &&
    (wanted === "" || kind.texts?.(thing).some((each) => each?.toLowerCase().includes(wanted)) === true);
  const shown: object[] = [];
  for (let pages = 0, after: string | undefined; pages < MAX_PAGES && shown.length <= MOST_SHOWN; pages += 1) {
    const { found, next } = await kind.page(deps, { after, limit: MOST_SHOWN, filters });
    shown.push(...found.filter(isMeant));
    if (next === undefined) break;
    after = next;
  }
  return shown;
}

async function showList(kind: OwnKind, deps: KindDeps, visit: ConsoleRequest): Promise<ScreenPage> {
  const { creation, screen: own } = kind;
  const text = (visit.query.get("text") ?? "").slice(0, 256);
  const selected = visit.query.get("kind") ?? "";
  const all = await listFor(kind, deps, visit, text);
  const things = all.slice(0, MOST_SHOWN);
  const isCut = all.length > things.length;
  const emails = await emailsFor(kind, deps.store, things);
  const empty = text === "" && selected === "" ? kind.table.empty : own.emptyFiltered;
  const { search, kind: choice } = own.filter;
  const values = kind.fields.find(({ name }) => name === "kind")?.values ?? [];
  return {
    title: own.name,
    body: objectsBody({
      table: objectTable({ ...kind.table, empty }, things, { emails, link: linkOf(kind, visit) }, { isCut }),
      filter: {
        path: addressOfList(kind.plural),
        fields: [
          ...(choice
            ? [
                {
                  name: "kind",
                  label: choice[0],
                  value: selected,
                  options: [["", choice[1]] as const, ...values.map((each) => [each, each] as const)],
                },
              ]
            : []),
          { name: "text", label: search, value: text, type: "search" as const },
        ],
      },
      creation:
        creation && mayMake(visit, creation)
          ? { href: `${addressOfList(kind.plural)}/${creation.path}`, title: creation.title }
          : undefined,
      note: isCut ? own.more : undefined,
    }),
  };
}

function linkOf(kind: Kind, { rights }: ConsoleRequest): Seen["link"] {
  return (name, thing, text, about) => {
    const action = kind.actions.find((each) => each.name === name);
    if (!action || !rights.may(action.role, kind.ownerOf(thing))) return undefined;
    const query = new URLSearchParams(fieldsOf(kind, thing).map(([a, b]) => [a, b])).toString();
    return actionLink({ href: `${addressOfList(kind.plural)}/${action.path}?${query}`, text, of: about });
  };
}

function valuesOf({ inputs }: Creation<KindDeps>, form: Form): Form {
  return new Map(inputs.map(({ name }) => [name, form.get(name)?.trim() ?? ""]));
}

function mayMake({ rights }: ConsoleRequest, { role }: Creation<KindDeps>): boolean {
  return rights.may(role) || [...rights.byOwner.keys()].some((owner) => rights.may(role, owner));
}

function fieldsOf(kind: Kind, thing: object): readonly (readonly [string, string])[] {
  return kind.byForm?.fieldsOf(thing) ?? [["of", kind.idOf(thing)]];
}

function namedBy(kind: Kind, read: (name: string) => string): Named {
  const gone = "No changes were made: the item no longer exists.";
  return kind.byForm?.named(read) ?? { id: read("of"), owner: undefined, gone };
}
