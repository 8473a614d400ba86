/** Service accounts, publish tokens and devices, page by page, as their descriptions have them. */
import { DEVICE } from "../../administration/kinds/device.ts";
import type { Kind, Seen } from "../../administration/kind.ts";
import { PUBLISH_TOKEN } from "../../administration/kinds/publish-token.ts";
import { SERVICE_ACCOUNT } from "../../administration/kinds/service-account.ts";
import { pageDevices, type ActiveDevice } from "../../identity/devices/devices.ts";
import { emailsOf } from "../../identity/users/emails-of.ts";
import { fullTable } from "../../pages/console/columns.ts";
import { actionLink } from "../../pages/console/objects.ts";
import { tableBody } from "../../pages/console/people/clients.ts";
import { emptyState, type PagerParts } from "../../pages/console/pieces.ts";
import { html, type Html } from "../../pages/html.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import { objectTable } from "../objects/object-table.ts";
import { linkOf } from "../people/person-view.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { clientTabs } from "./tabs.ts";
import type { ClientsDeps } from "./deps.ts";

export const MACHINES_PAGE = 50;
const NO_FILTERS: ReadonlyMap<string, string> = new Map();

export async function accountsBody(deps: ClientsDeps, visit: ConsoleRequest): Promise<Html> {
  const { after, found, next } = await pageOf(deps, visit, SERVICE_ACCOUNT, "service-account:");
  const userHref = (userId: string): string => addressOfId("people", userId);
  const seen = { emails: NO_FILTERS, userHref, link: endLink("accounts", SERVICE_ACCOUNT, visit) };
  return tableBody({
    tabs: clientTabs("accounts"),
    table: objectTable(SERVICE_ACCOUNT.table, found, seen, { draw: fullTable }),
    pages: pagesOf("clients/accounts", after, next),
  });
}

export async function tokensBody(deps: ClientsDeps, visit: ConsoleRequest): Promise<Html> {
  const { after, found, next } = await pageOf(deps, visit, PUBLISH_TOKEN, "publish-token:");
  const seen = { emails: NO_FILTERS, link: endLink("tokens", PUBLISH_TOKEN, visit) };
  return tableBody({
    tabs: clientTabs("tokens"),
    table: objectTable(PUBLISH_TOKEN.table, found, seen, { draw: fullTable }),
    pages: pagesOf("clients/tokens", after, next),
  });
}

export async function devicesBody({ store }: ClientsDeps, visit: ConsoleRequest): Promise<Html> {
  const after = placeIn("device:", visit.query.get("after"));
  const { found, next } = await pageDevices({ store }, { after, limit: MACHINES_PAGE });
  const emails = await emailsOf(
    store,
    found.map(({ device }) => device.userId),
  );
  const who = {
    name: "Person",
    isHead: true,
    cell: ({ device: { userId } }: ActiveDevice) =>
      html`<a href="${addressOfId("people", userId)}">${showUntrusted(emails.get(userId) || userId)}</a>`,
  };
  const columns = [who, ...DEVICE.table.columns.map((column) => ({ ...column, isHead: false }))];
  const caption = (): string => "Registered devices";
  const empty = emptyState("No registered devices", "Devices appear here once users register them.");
  const seen = { emails, link: linkOf(DEVICE, visit.rights.may("operator")) };
  return tableBody({
    tabs: clientTabs("devices"),
    table: objectTable({ ...DEVICE.table, columns, caption, empty }, found, seen, { draw: fullTable }),
    pages: pagesOf("clients/devices", after, next),
  });
}

async function pageOf<T extends object, S>(
  deps: ClientsDeps,
  { query }: ConsoleRequest,
  kind: Kind<T, ClientsDeps, S>,
  prefix: string,
) {
  const after = placeIn(prefix, query.get("after"));
  return { after, next: undefined, ...(await kind.page(deps, { after, limit: MACHINES_PAGE, filters: NO_FILTERS })) };
}

function endLink<T extends object, S>(
  list: string,
  kind: Kind<T, ClientsDeps, S>,
  { rights }: ConsoleRequest,
): Seen["link"] {
  return (_, thing, text, of) => {
    const id = kind.idOf(thing as T);
    const href = `${addressOfList(`clients/${list}`, { do: "end", of: id })}#reason`;
    return rights.may("operator") ? actionLink({ href, anchor: `end-${id}`, text, of }) : undefined;
  };
}

function pagesOf(list: string, after: string | undefined, next: string | undefined): PagerParts {
  return {
    first: after === undefined ? undefined : addressOfList(list),
    next: next === undefined ? undefined : addressOfList(list, { after: next }),
    nextText: "More",
  };
}
