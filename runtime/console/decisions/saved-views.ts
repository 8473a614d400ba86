/** Views of decisions that the user has saved: as tabs, and the forms that save and delete them. */
import {
  listViews,
  MAX_VIEW_NAME,
  MAX_VIEWS,
  removeView,
  type SavedView,
  saveView,
} from "../../administration/saved-views.ts";
import type { DecisionsParts } from "../../pages/console/decisions.ts";
import type { Store } from "../../store/store.ts";
import type { ConsoleRequest, ScreenAction } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { type DecisionFilters, filterQuery, readFilters } from "./filters.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { DECISIONS_PATH } from "./show-record.ts";

/** Without the store there are none, and the list is shown all the same. */
export async function viewsOfUser(
  store: Pick<Store, "get"> | undefined,
  { principal }: ConsoleRequest,
): Promise<readonly SavedView[]> {
  return store ? listViews(store, principal.user.id).catch(() => []) : [];
}

/** @returns undefined: this view is a built-in one */
export function viewForm(
  visit: ConsoleRequest,
  filters: DecisionFilters,
  saved: readonly SavedView[],
): DecisionsParts["save"] {
  const query = filterQuery(filters);
  const current = saved.find((view) => view.query === query);
  if (query === "") return undefined;
  const name = current ? "remove-view" : "save-view";
  return {
    form: { action: DECISIONS_PATH, name, csrfToken: visit.csrf(name), fields: [["query", query]] },
    saved: current && showUntrusted(current.name),
    maxName: MAX_VIEW_NAME,
  };
}

export function viewActions(store: Pick<Store, "get" | "put"> | undefined): Readonly<Record<string, ScreenAction>> {
  if (!store) return {};
  const common = {
    role: "viewer",
    isSensitive: false,
    ownerOf: ({ rights }: ConsoleRequest) => rights.owners?.[0],
  } as const;
  return {
    "save-view": {
      ...common,
      name: "Save view",
      async run({ principal }, form) {
        const name = (form.get("name") ?? "").trim();
        const query = canonical(form.get("query") ?? "");
        if (name === "" || query === "") return { refused: "No view was saved: enter a name." };
        const problem = await saveView(store, principal.user.id, { name, query });
        if (problem === "too-many") return { refused: `No view was saved: you have ${MAX_VIEWS}. Delete one first.` };
        if (problem !== undefined)
          return {
            refused: `No view was saved: the name has more than ${MAX_VIEW_NAME} characters, or too many filters.`,
          };
        return { told: `View ${showUntrusted(name)} saved.`, to: DECISIONS_PATH + query };
      },
    },
    "remove-view": {
      ...common,
      name: "Delete view",
      async run({ principal }, form) {
        const query = form.get("query");
        const found = (await listViews(store, principal.user.id)).find((view) => view.query === query);
        if (!found) return { refused: "No changes were made: the view no longer exists." };
        await removeView(store, principal.user.id, found.name);
        return { told: `View ${showUntrusted(found.name)} deleted.`, to: DECISIONS_PATH };
      },
    },
  };
}

/** Only filters of ours, in our order. */
function canonical(query: string): string {
  const read = parseQuery(query.replace(/^\?/, ""));
  return read.ok ? filterQuery(readFilters(read.values)) : "";
}
