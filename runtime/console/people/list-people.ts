/**
 * Users who have signed in, page by page, and those that match a search.
 *
 * A complete email address or ID is found directly, by its index. Partial matches are searched in a bounded number of
 * records per page; the page links to the continuation.
 */
import { storedFacts } from "../../identity/claims-record.ts";
import { createRecords, emailTag, type IdentityRecord } from "../../identity/identity-records.ts";
import { pageSessions } from "../../identity/users/list-sessions.ts";
import { pageGrants } from "../../oauth/server/list-access.ts";
import type { PeopleView, PersonRow } from "../../pages/console/people/people.ts";
import { providerNameOf } from "../../shared/user-id.ts";
import { type PageOf, pageOf, type PageRequest } from "../../store/page-of.ts";
import type { StoredRecord } from "../../store/store.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import { lookThrough, pagesOfSearch, SEARCHED_PAGE } from "../look-through.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { PeopleDeps } from "./deps.ts";

const MAX_SEARCH_CHARACTERS = 256;
const SHOWN_GROUPS = 5;
const COUNTED_SESSIONS = 20;
const PREFIX = "identity:";

export async function peopleView(deps: PeopleDeps, { query }: ConsoleRequest): Promise<PeopleView> {
  const { store } = deps;
  const search = (query.get("q") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS);
  const after = placeIn(PREFIX, query.get("after"));
  const exact = search === "" || after !== undefined ? [] : await findExactly(store, search);
  const known = new Set(exact.map(({ userId }) => userId));
  const wanted = search.toLowerCase();
  const looked = await lookThrough<IdentityRecord>((page) => pagePeople(store, page), {
    after,
    room: SEARCHED_PAGE - exact.length,
    isMeant: wanted === "" ? undefined : ({ value }) => !known.has(value.userId) && isMeant(value, wanted),
  });
  const people = [...exact, ...looked.found.map(({ value }) => value)];
  return {
    path: addressOfList("people"),
    rows: await Promise.all(people.map((each) => personRow(deps, each))),
    search,
    pages: pagesOfSearch("people", { search, after, looked }),
  };
}

function pagePeople(store: PeopleDeps["store"], page: PageRequest): Promise<PageOf<StoredRecord<IdentityRecord>>> {
  return pageOf<IdentityRecord, StoredRecord<IdentityRecord>>(store, { prefix: PREFIX }, page, (record) => record);
}

async function findExactly(store: PeopleDeps["store"], search: string): Promise<readonly IdentityRecord[]> {
  // Text that cannot be in a key is not an ID of a user.
  if (!search.isWellFormed() || search.includes("\0")) return [];
  const byId = await createRecords(store).identities.get(search);
  const byEmail = await store.page<IdentityRecord>({ prefix: PREFIX, tag: emailTag(search), limit: SEARCHED_PAGE - 1 });
  const all = [...(byId ? [byId] : []), ...byEmail].map(({ value }) => value);
  return [...new Map(all.map((each) => [each.userId, each])).values()];
}

function isMeant(person: IdentityRecord, wanted: string): boolean {
  return [person.userId, person.email, person.name].some((text) => text.toLowerCase().includes(wanted));
}

async function personRow({ store, blocks }: PeopleDeps, record: IdentityRecord): Promise<PersonRow> {
  const { userId, confirmedAt, refusedAt } = record;
  const { email, name, groups } = storedFacts(record);
  const limit = COUNTED_SESSIONS;
  const [sessions, grants] = await Promise.all([
    pageSessions(store, userId, { limit }),
    pageGrants(store, { userId }, { limit }),
  ]);
  const uses = sessions.found.flatMap(({ used }) => (used ? [used.at] : []));
  const more = groups.length > SHOWN_GROUPS ? ` and ${groups.length - SHOWN_GROUPS} more` : "";
  return {
    href: addressOfId("people", userId),
    who: showUntrusted(email === "" ? userId : email),
    id: showUntrusted(userId),
    name: showUntrusted(name),
    provider: showUntrusted(providerNameOf(userId)),
    groups: showUntrusted(groups.slice(0, SHOWN_GROUPS).join(", ")) + more,
    isBlocked: blocks.find({ user: { id: userId, email } }) !== undefined,
    isRefused: refusedAt !== undefined,
    sessions: countText(sessions),
    grants: countText(grants),
    activeMs: uses.length === 0 ? undefined : Math.max(...uses) * 1000,
    confirmedMs: confirmedAt * 1000,
  };
}

function countText({ found, next }: PageOf<unknown>): string {
  return next === undefined ? String(found.length) : `${found.length} or more`;
}
