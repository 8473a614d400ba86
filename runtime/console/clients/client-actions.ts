/** What is done about clients and machines: they are ended as their descriptions say, each with a record. */
import { CLIENT } from "../../administration/kinds/client.ts";
import { PUBLISH_TOKEN } from "../../administration/kinds/publish-token.ts";
import { SERVICE_ACCOUNT } from "../../administration/kinds/service-account.ts";
import { confirmForm } from "../../pages/console/pieces.ts";
import { addressOfId, addressOfList, idOfPath } from "../addresses.ts";
import { readReason } from "../ask-once-more.ts";
import { doables, doOne, type Doable } from "../objects/do-one.ts";
import type { ScreenAction, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { MACHINES_PAGE } from "./list-machines.ts";
import type { ClientsDeps } from "./deps.ts";

interface Ended {
  /** Each of these kinds is ended, and nothing else. */
  readonly what: readonly Doable<ClientsDeps>[];
  /** Address of the page with the action. */
  address(id: string): string;
  /** Page to continue with. */
  readonly goOn: (id: string | undefined) => string;
}

/** By the part of the address below the screen's. */
const ENDS: ReadonlyMap<string, Ended> = new Map([
  [
    "client",
    {
      what: doables(CLIENT, MACHINES_PAGE),
      address: (id: string) => addressOfId("clients/client", id),
      goOn: () => `${addressOfList("clients")}#main`,
    },
  ],
  ["accounts", { what: doables(SERVICE_ACCOUNT, MACHINES_PAGE), ...inList("accounts") }],
  ["tokens", { what: doables(PUBLISH_TOKEN, MACHINES_PAGE), ...inList("tokens") }],
]);

function inList(list: string): Omit<Ended, "what"> {
  const address = addressOfList(`clients/${list}`);
  return { address: () => address, goOn: (id) => `${address}#${id === undefined ? "main" : `end-${id}`}` };
}

export function clientActions(deps: ClientsDeps): Readonly<Record<string, ScreenAction>> {
  const actions = [...ENDS.values()].flatMap(({ what, goOn }) =>
    what.map((each): readonly [string, ScreenAction] => [
      each.name,
      {
        role: "operator",
        isSensitive: true,
        name: each.title,
        async run(visit, form) {
          const reason = readReason(form);
          if (!reason.ok) return reason;
          return doOne(deps, each, { visit, id: form.get("of") ?? "", reason: reason.value }, goOn);
        },
      },
    ]),
  );
  return Object.fromEntries(actions);
}

/** The page that asks once more. @returns undefined: there is nothing to end, or this person may not */
export async function confirmEnd(deps: ClientsDeps, visit: ConsoleRequest): Promise<ScreenPage | undefined> {
  const [list = "", ...rest] = visit.path;
  const ends = ENDS.get(list);
  const [what] = ends?.what ?? [];
  if (!ends || !what || !visit.rights.may("operator")) return undefined;
  const id = (list === "client" ? idOfPath(rest) : visit.query.get("of")) ?? "";
  const found = id === "" ? undefined : await what.find(deps, id);
  if (!found) return undefined;
  const address = ends.address(id);
  const body = confirmForm({
    action: address,
    name: what.name,
    csrfToken: visit.csrf(what.name),
    fields: [["of", id]],
    button: what.title,
    text: `${what.effect} It is done to ${showUntrusted(found.target, 500)}, ${showUntrusted(found.details ?? "", 500)}.`,
    asksReason: true,
    back: address,
  });
  return { title: what.title, body };
}
