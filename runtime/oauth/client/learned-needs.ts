/** Learned facts about upstreams, for operators: view and reset. */
import { everyPage } from "../../store/page-of.ts";
import type { Store } from "../../store/store.ts";
import { upstreamRouteTag, type NeedRecord } from "./connection-records.ts";

const PREFIX = "upstream-need:";
const PAGE = 500;

export async function listNeeds(store: Pick<Store, "page">): Promise<readonly NeedRecord[]> {
  const found: NeedRecord[] = [];
  for await (const page of everyPage<NeedRecord>(store, PREFIX, PAGE))
    for (const { value } of page) if (isProven(value)) found.push(value);
  return found.toSorted((a, b) => (a.routeKey < b.routeKey ? -1 : 1));
}

export async function findNeed(store: Pick<Store, "list">, routeKey: string): Promise<NeedRecord | undefined> {
  const records = await store.list<NeedRecord>(upstreamRouteTag(routeKey));
  return records.filter(({ key }) => key.startsWith(PREFIX)).map(({ value }) => value)[0];
}

/**
 * Deletes what was learned, including users' connect requests. Processes read it each time, so no announcement is
 * needed. @returns true if there was anything
 */
export async function forgetNeed(store: Pick<Store, "deleteByTag">, routeKey: string): Promise<boolean> {
  return (await store.deleteByTag(upstreamRouteTag(routeKey))) > 0;
}

/** Text for administrators, such as "wants a token (its metadata say so)". */
export function needText({ needed, proof }: NeedRecord): string {
  if (!needed) return "wants no token of its users";
  return proof === "metadata"
    ? "wants a token of its users: its metadata say so"
    : "wants a token of its users: it refused two requests without one, and has no metadata";
}

/** Older versions stored conclusions from a single response. */
function isProven({ needed, proof }: NeedRecord): boolean {
  return !needed || proof !== undefined;
}
