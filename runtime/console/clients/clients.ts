/** OAuth clients, service accounts, publish tokens, devices: callers other than users in browsers. They belong to no owner. */
import { clientBody } from "../../pages/console/people/clients.ts";
import { idOfPath } from "../addresses.ts";
import type { Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { clientActions, confirmEnd } from "./client-actions.ts";
import { clientsBody, clientView } from "./list-clients.ts";
import { accountsBody, devicesBody, tokensBody } from "./list-machines.ts";
import type { ClientsDeps } from "./deps.ts";

export function clientsScreen(deps: ClientsDeps): Screen {
  return {
    path: "clients",
    group: "Access",
    icon: "clients",
    name: "Clients",
    isFor: (rights) => rights.may("viewer"),
    async show(visit) {
      if (!visit.rights.may("viewer")) return undefined;
      if (visit.query.has("do")) return confirmEnd(deps, visit);
      return showList(deps, visit);
    },
    actions: clientActions(deps),
  };
}

async function showList(deps: ClientsDeps, visit: ConsoleRequest): Promise<ScreenPage | undefined> {
  const [list, ...rest] = visit.path;
  if (list === "client") {
    const id = idOfPath(rest);
    const view = id === undefined ? undefined : await clientView(deps, visit, id);
    return view && { title: `Client ${showUntrusted(id ?? "")}`, body: clientBody(view) };
  }
  if (rest.length > 0) return undefined;
  switch (list) {
    case undefined:
      return { title: "OAuth clients", body: await clientsBody(deps, visit) };
    case "accounts":
      return { title: "Service accounts", body: await accountsBody(deps, visit) };
    case "tokens":
      return { title: "Publish tokens", body: await tokensBody(deps, visit) };
    case "devices":
      return { title: "Devices", body: await devicesBody(deps, visit) };
    default:
      return undefined;
  }
}
