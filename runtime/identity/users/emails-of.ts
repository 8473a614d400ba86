import type { Store } from "../../store/store.ts";
import { storedFacts } from "../claims-record.ts";
import { createRecords } from "../identity-records.ts";

/** Email addresses for display, by user id. */
export async function emailsOf(store: Store, userIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { identities } = createRecords(store);
  const found = await Promise.all([...new Set(userIds)].map(async (id) => [id, await identities.get(id)] as const));
  return new Map(found.map(([id, record]) => [id, record ? storedFacts(record.value).email : ""]));
}
