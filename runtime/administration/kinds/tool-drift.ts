/** Drift: tools and other locked items whose listed definition differs from the lock. The console compares them. */
import { ownerOfRoute } from "../../shared/route-key.ts";
import { findDrift, pageDrift, type RouteDrift } from "../../mcp/tool-locks/shared-drift.ts";
import { textField, type Kind, type KindDeps } from "../kind.ts";

const SHOWN = 50;

export const TOOL_DRIFT: Kind<RouteDrift, Pick<KindDeps, "store">> = {
  name: "tool-drift",
  plural: "tool-drift",
  command: "tool-drift list",
  doc: "Routes whose servers list tools or other locked items that differ from the lock",
  none: "no locked item differs",
  fields: [
    textField("id", "ID of the route's drift", ({ id }) => id),
    textField("route", "Key of the route", ({ routeKey }) => routeKey),
    textField("changed", "Number of items that differ", ({ forAll }) => String(forAll.length)),
    textField("changed_for_some", "Number of items that differ for some users only", ({ forSome }) =>
      String(forSome.length),
    ),
    textField("items", "Their names, 50 at most", ({ forAll, forSome }) =>
      [...new Set([...forAll, ...forSome])].slice(0, SHOWN).join(", "),
    ),
  ],
  filters: [],
  idOf: ({ id }) => id,
  userOf: () => undefined,
  ownerOf: ({ routeKey }) => ownerOfRoute(routeKey),
  isPlace: (after) => after.startsWith("tool-drift:"),
  page: ({ store }, { filters: _none, ...page }) => pageDrift(store, page),
  find: ({ store }, id) => findDrift(store, id),
  actions: [],
};
