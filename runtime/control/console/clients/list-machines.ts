/** Service accounts, publish tokens and devices, page by page. */
import { pageDevices } from "../../../identity/devices/devices.ts";
import { createRecords } from "../../../identity/identity-records.ts";
import { pageServiceAccounts } from "../../../identity/tokens/service-accounts.ts";
import type { AccountRow, OwnedDeviceRow, PagedView, TokenRow } from "../../../pages/console/people/clients.ts";
import type { PagerParts } from "../../../pages/console/pieces.ts";
import { serviceAccountUserId } from "../../../shared/user-id.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import { deviceFacts, deviceLinks } from "../people/person-view.ts";
import type { Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import type { ClientsDeps } from "./clients.ts";
import { clientTabs } from "./tabs.ts";

export const MACHINES_PAGE = 50;
const ACCOUNT = "service-account:";

export async function accountsView({ store }: ClientsDeps, visit: Visit): Promise<PagedView<AccountRow>> {
  const after = placeIn(ACCOUNT, visit.query.get("after"));
  const { found, next } = await pageServiceAccounts(store, { after, limit: MACHINES_PAGE });
  const mayEnd = visit.rights.may("operator");
  return {
    tabs: clientTabs("accounts"),
    rows: found.map(({ key, value, expiresAt }) => {
      const id = key.slice(ACCOUNT.length);
      return {
        id,
        name: strange(value.name),
        href: addressOfId("people", serviceAccountUserId(value.name)),
        email: strange(value.email),
        groups: strange(value.groups.join(", ")),
        goodFor: strange(
          value.clientId === undefined ? (value.audience ?? "") : `what client ${value.clientId} asks for`,
        ),
        madeMs: value.createdAt * 1000,
        endsMs: expiresAt === undefined ? undefined : expiresAt * 1000,
        end: mayEnd ? endLink("accounts", id, `service account ${strange(value.name)}`) : undefined,
      };
    }),
    pages: pagesOf("clients/accounts", after, next),
  };
}

export async function tokensView({ publishTokens }: ClientsDeps, visit: Visit): Promise<PagedView<TokenRow>> {
  const after = placeIn("publish-token:", visit.query.get("after"));
  const { found, next } = await publishTokens.page({ after, limit: MACHINES_PAGE });
  const mayEnd = visit.rights.may("operator");
  return {
    tabs: clientTabs("tokens"),
    rows: found.map(({ id, owner, expiresAt }) => ({
      id,
      owner: strange(owner),
      endsMs: expiresAt * 1000,
      end: mayEnd ? endLink("tokens", id, `publish token ${id}`) : undefined,
    })),
    pages: pagesOf("clients/tokens", after, next),
  };
}

export async function devicesView({ store }: ClientsDeps, visit: Visit): Promise<PagedView<OwnedDeviceRow>> {
  const after = placeIn("device:", visit.query.get("after"));
  const { found, next } = await pageDevices({ store }, { after, limit: MACHINES_PAGE });
  const mayEnd = visit.rights.may("operator");
  const { identities } = createRecords(store);
  const rows = await Promise.all(
    found.map(async (each) => {
      const { userId } = each.device;
      const email = (await identities.get(userId))?.value.email ?? "";
      return {
        ...deviceFacts(each),
        who: strange(email === "" ? userId : email),
        href: addressOfId("people", userId),
        links: mayEnd ? deviceLinks(each) : [],
      };
    }),
  );
  return { tabs: clientTabs("devices"), rows, pages: pagesOf("clients/devices", after, next) };
}

function endLink(list: "accounts" | "tokens", id: string, of: string) {
  return {
    href: `${addressOfList(`clients/${list}`, { do: "end", of: id })}#reason`,
    anchor: `end-${id}`,
    text: "End",
    of,
  };
}

function pagesOf(list: string, after: string | undefined, next: string | undefined): PagerParts {
  return {
    first: after === undefined ? undefined : addressOfList(list),
    next: next === undefined ? undefined : addressOfList(list, { after: next }),
    nextText: "More",
  };
}
