/** Views of the console's lists that a user has saved: a name, and the query of the address. */
import { GatewayError } from "../shared/errors.ts";
import { firstFormats } from "../store/formats.ts";
import type { Store } from "../store/store.ts";

export interface SavedView {
  readonly name: string;
  /** "?outcome=others&tool=refund" */
  readonly query: string;
}

export const SAVED_VIEW_FORMATS = firstFormats(["saved-views"]);

export const MAX_VIEWS = 20;
export const MAX_VIEW_NAME = 40;
const MAX_QUERY = 1_000;
const MAX_TRIES = 5;

/** One record per user. */
export function savedViewsKey(userId: string): string {
  return `saved-views:${userId}`;
}

/** In the order in which they were saved. @throws GatewayError `store.unavailable` */
export async function listViews(store: Pick<Store, "get">, userId: string): Promise<readonly SavedView[]> {
  return (await store.get<{ readonly views: readonly SavedView[] }>(savedViewsKey(userId)))?.value.views ?? [];
}

/** A view with the name of another one replaces it. @returns why it was not saved @throws GatewayError `store.unavailable` */
export async function saveView(
  store: Pick<Store, "get" | "put">,
  userId: string,
  view: SavedView,
): Promise<"too-many" | "too-long" | undefined> {
  if (view.name.length > MAX_VIEW_NAME || view.query.length > MAX_QUERY) return "too-long";
  const isFull = await change(store, userId, (views) => {
    const others = views.filter(({ name }) => name !== view.name);
    return others.length >= MAX_VIEWS ? undefined : [...others, view];
  });
  return isFull ? "too-many" : undefined;
}

/** @throws GatewayError `store.unavailable` */
export async function removeView(store: Pick<Store, "get" | "put">, userId: string, name: string): Promise<void> {
  await change(store, userId, (views) => views.filter((each) => each.name !== name));
}

/** @param next of the views; undefined: nothing is changed @returns whether nothing was changed */
async function change(
  store: Pick<Store, "get" | "put">,
  userId: string,
  next: (views: readonly SavedView[]) => readonly SavedView[] | undefined,
): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await store.get<{ readonly views: readonly SavedView[] }>(savedViewsKey(userId));
    const views = next(found?.value.views ?? []);
    if (views === undefined) return true;
    const { ok } = await store.put(savedViewsKey(userId), { views }, { ifVersion: found?.version ?? 0 });
    if (ok) return false;
  }
  throw new GatewayError("store.unavailable", "Cannot save the view: other windows change the views of this user");
}
