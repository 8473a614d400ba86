/** Stored users as policies see them, for simulations. */
import type { LiveSettings } from "../../config/compiled.ts";
import type { UserFacts } from "../../policy/facts.ts";
import { isShallow } from "../../shared/json/foreign-json.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import type { Store } from "../../store/store.ts";
import { toUser } from "../claims-record.ts";
import { createRecords, emailTag, type IdentityRecord } from "../identity-records.ts";

export interface KnownPeople {
  /** Finds users by id or email address, which several may share. @throws GatewayError `store.unavailable` */
  find(named: string, settings: LiveSettings): Promise<readonly UserFacts[]>;
  /** Some users, at most `most`. @throws GatewayError `store.unavailable` */
  list(most: number, settings: LiveSettings): Promise<readonly UserFacts[]>;
}

const PREFIX = "identity:";
const PAGE = 200;

export function createKnownPeople(store: Store): KnownPeople {
  const records = createRecords(store);
  const userOf = (record: IdentityRecord, settings: LiveSettings): UserFacts => {
    const { id, email, name, groups, claims, leftOut } = toUser(record, settings);
    // Records of older versions may have claims too deep to compare.
    const deep = Object.keys(claims).filter((claim) => !isShallow(claims[claim]));
    if (deep.length === 0) return { id, email, name, groups, claims, ...(leftOut && { leftOut }) };
    const shallow = Object.fromEntries(Object.entries(claims).filter(([claim]) => !deep.includes(claim)));
    const missing = { groups: false, ...leftOut, claims: [...(leftOut?.claims ?? []), ...deep] };
    return { id, email, name, groups, claims: shallow, leftOut: missing };
  };
  return {
    async find(named, settings) {
      const own = await records.identities.get(named);
      const others = isNamedByEmail(named) ? await store.list<IdentityRecord>(emailTag(named)) : [];
      const found = [...(own ? [own.value] : []), ...others.map(({ value }) => value)];
      return [...new Map(found.map((record) => [record.userId, userOf(record, settings)])).values()];
    },
    async list(most, settings) {
      const found: UserFacts[] = [];
      let after: string | undefined;
      while (found.length < most) {
        const limit = Math.min(PAGE, most - found.length);
        const page = await store.page<IdentityRecord>({ prefix: PREFIX, limit, ...(after !== undefined && { after }) });
        for (const { value } of page) found.push(userOf(value, settings));
        if (page.length < limit) break;
        after = page.at(-1)?.key;
      }
      return found;
    },
  };
}
