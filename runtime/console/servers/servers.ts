/** Servers and applications: their state, who can do what there, and their traffic. */
import { serversBody } from "../../pages/console/servers/servers.ts";
import { idOfPath, addressOfId } from "../addresses.ts";
import type { Screen, ActionOutcome, ConsoleRequest } from "../screen.ts";
import { serversView, visibleRoutes } from "./list-servers.ts";
import type { ServersDeps } from "./deps.ts";
import { findNeed, forgetNeed, needText } from "../../oauth/client/learned-needs.ts";
import { routeBody } from "../../pages/console/servers/route.ts";
import { GONE } from "../ask-once-more.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { routeView } from "./route-view.ts";

export function serversScreen(deps: ServersDeps): Screen {
  return {
    path: "servers",
    group: "Access",
    icon: "servers",
    name: "Servers and apps",
    async show(visit) {
      const key = idOfPath(visit.path);
      if (key === undefined) return { title: "Servers and apps", body: serversBody(await serversView(deps, visit)) };
      // A route of an owner without a role is treated as if it did not exist.
      const route = visibleRoutes(visit).find((each) => each.key === key);
      return route && { title: showUntrusted(route.name), body: routeBody(await routeView(deps, visit, route)) };
    },
    actions: {
      "forget-need": {
        role: "operator",
        isSensitive: false,
        name: "Reset what was learned about the upstream",
        ownerOf: (visit) => visibleRoutes(visit).find(({ key }) => key === idOfPath(visit.path))?.owner,
        run: (visit) => forget(deps, visit),
      },
    },
  };
}

async function forget({ store, recordAction }: ServersDeps, visit: ConsoleRequest): Promise<ActionOutcome> {
  const route = visibleRoutes(visit).find(({ key }) => key === idOfPath(visit.path));
  const need = route && (await findNeed(store, route.key));
  if (!route || !need || !(await forgetNeed(store, route.key))) return GONE;
  const target = `what is known of the upstream of ${route.key}`;
  recordAction({ action: "forget", by: visit.principal.user.id, target, before: needText(need), after: null });
  return { told: "Reset: the gateway discovers it again.", to: addressOfId("servers", route.key) };
}
