import { lowerAscii } from "../../shared/ascii.ts";
import type { Store } from "../../store/store.ts";
import { emailTag, type IdentityRecord } from "../identity-records.ts";

/** Users with an email address, of all issuers. Finds only records with a tag. */
export async function idsOfEmail(store: Store, email: string): Promise<readonly string[]> {
  const tagged = await store.list<IdentityRecord>(emailTag(email));
  const normalized = lowerAscii(email);
  return tagged
    .filter(({ key, value }) => key.startsWith("identity:") && lowerAscii(value.email) === normalized)
    .map(({ value }) => value.userId);
}
