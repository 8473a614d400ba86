/**
 * People who have signed in, page by page, and those whom a search fits.
 *
 * A whole e-mail address or id is found at once, by its index. What fits in part is looked for among so many records at a
 * time, and the page says where it goes on.
 */
import { storedFacts } from "../../../identity/claims-record.ts";
import { createRecords, emailTag, type IdentityRecord } from "../../../identity/identity-records.ts";
import { pageSessions } from "../../../identity/users/list-sessions.ts";
import type { PeopleView, PersonRow } from "../../../pages/console/people/people.ts";
import { providerNameOf } from "../../../shared/user-id.ts";
import { pageOf } from "../../../store/page-of.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import type { Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import type { PeopleDeps } from "./people.ts";

const PAGE = 25;
const READ_AT_ONCE = 250;
/** Records that one page looks at. */
const MAX_LOOKED_AT = 5_000;
const MAX_SEARCH_CHARACTERS = 256;
const SHOWN_GROUPS = 5;
const COUNTED_SESSIONS = 20;
const PREFIX = "identity:";

interface Found {
  readonly people: readonly IdentityRecord[];
  /** Where it goes on. */
  readonly next: string | undefined;
  /** It goes on though the page is not full. */
  readonly isPartial: boolean;
}

export async function peopleView(deps: PeopleDeps, { query }: Visit): Promise<PeopleView> {
  const search = (query.get("q") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS);
  const after = placeIn(PREFIX, query.get("after"));
  const { people, next, isPartial } = await find(deps, search, after);
  const rows = await Promise.all(people.map((each) => personRow(deps, each)));
  return {
    path: addressOfList("people"),
    rows,
    search,
    pages: {
      first: after === undefined ? undefined : addressOfList("people", { q: search }),
      next: next === undefined ? undefined : addressOfList("people", { q: search, after: next }),
      nextText: isPartial ? "Look among more people" : "More people",
      note: isPartial ? `${MAX_LOOKED_AT.toLocaleString("en")} people were looked at, and there are more.` : undefined,
    },
  };
}

async function find({ store }: PeopleDeps, search: string, after: string | undefined): Promise<Found> {
  const exact = search === "" || after !== undefined ? [] : await findExactly(store, search);
  const known = new Set(exact.map(({ userId }) => userId));
  const people: IdentityRecord[] = [...exact];
  const wanted = search.toLowerCase();
  let place = after;
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT;) {
    const limit = search === "" ? PAGE : READ_AT_ONCE;
    const { found, next } = await pageOf<IdentityRecord, readonly [string, IdentityRecord]>(
      store,
      { prefix: PREFIX },
      { after: place, limit },
      ({ key, value }) => [key, value],
    );
    for (const [key, person] of found) {
      place = key;
      if (known.has(person.userId) || !isMeant(person, wanted)) continue;
      people.push(person);
      if (people.length >= PAGE) {
        const isLast = next === undefined && key === found.at(-1)?.[0];
        return { people, next: isLast ? undefined : key, isPartial: false };
      }
    }
    if (next === undefined) return { people, next: undefined, isPartial: false };
    lookedAt += found.length;
  }
  return { people, next: place, isPartial: true };
}

async function findExactly(store: PeopleDeps["store"], search: string): Promise<readonly IdentityRecord[]> {
  // Text that no key can be is nobody's id.
  if (!search.isWellFormed() || search.includes("\0")) return [];
  const byId = await createRecords(store).identities.get(search);
  const byEmail = await store.page<IdentityRecord>({ prefix: PREFIX, tag: emailTag(search), limit: PAGE - 1 });
  const all = [...(byId ? [byId] : []), ...byEmail].map(({ value }) => value);
  return [...new Map(all.map((each) => [each.userId, each])).values()];
}

function isMeant(person: IdentityRecord, wanted: string): boolean {
  return (
    wanted === "" || [person.userId, person.email, person.name].some((text) => text.toLowerCase().includes(wanted))
  );
}

async function personRow({ store, blocks }: PeopleDeps, record: IdentityRecord): Promise<PersonRow> {
  const { userId, confirmedAt, refusedAt } = record;
  const { email, name, groups } = storedFacts(record);
  const { found, next } = await pageSessions(store, userId, { limit: COUNTED_SESSIONS });
  const more = groups.length > SHOWN_GROUPS ? ` and ${groups.length - SHOWN_GROUPS} more` : "";
  return {
    href: addressOfId("people", userId),
    who: strange(email === "" ? userId : email),
    id: strange(userId),
    name: strange(name),
    provider: strange(providerNameOf(userId)),
    groups: strange(groups.slice(0, SHOWN_GROUPS).join(", ")) + more,
    isBlocked: blocks.find({ user: { id: userId, email } }) !== undefined,
    isRefused: refusedAt !== undefined,
    sessions: next === undefined ? String(found.length) : `${found.length} or more`,
    confirmedMs: confirmedAt * 1000,
  };
}
