/** Servers and routes: what there is, who may what there, and how it goes. */
import type { Blocks } from "../../../identity/blocks.ts";
import type { UpstreamStatus } from "../../../features/balancing/apply-state.ts";
import type { ListedTools } from "../../../mcp/listed-tools.ts";
import type { ToolLocks } from "../../../mcp/tool-locks/tool-locks.ts";
import type { AdminAction } from "../../../audit/action-record.ts";
import { findNeed, forgetNeed, needText } from "../../../oauth/client/learned-needs.ts";
import type { Connections } from "../../../oauth/client/list-connections.ts";
import { routeBody } from "../../../pages/console/servers/route.ts";
import { serversBody } from "../../../pages/console/servers/servers.ts";
import type { RecordReader } from "../../../record-store/record-reader.ts";
import type { Store } from "../../../store/store.ts";
import { addressOfId, idOfPath } from "../addresses.ts";
import { GONE } from "../ask-once-more.ts";
import type { ActionOutcome, Screen, Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import { serversView, visibleRoutes } from "./list-servers.ts";
import { routeView } from "./route-view.ts";

export interface ServersDeps {
  readonly store: Store;
  readonly blocks: Pick<Blocks, "find">;
  readonly connections: Connections;
  readonly toolLocks: Pick<ToolLocks, "differences">;
  readonly listedTools?: Pick<ListedTools, "notesOf">;
  /** What this process knows of upstreams. */
  readonly upstreams: () => readonly UpstreamStatus[];
  /** Undefined: records are not kept. */
  readonly records: Pick<RecordReader, "find"> | undefined;
  readonly recordAction: (action: AdminAction) => void;
}

export function serversScreen(deps: ServersDeps): Screen {
  return {
    path: "servers",
    name: "Servers",
    async show(visit) {
      const key = idOfPath(visit.path);
      if (key === undefined) return { title: "Servers and routes", body: serversBody(await serversView(deps, visit)) };
      // Somebody else's route is as if it were not there.
      const route = visibleRoutes(visit).find((each) => each.key === key);
      return route && { title: strange(route.name), body: routeBody(await routeView(deps, visit, route)) };
    },
    actions: {
      "forget-need": {
        role: "operator",
        isGrave: false,
        name: "Forget what was learned about the upstream",
        ownerOf: (visit) => visibleRoutes(visit).find(({ key }) => key === idOfPath(visit.path))?.owner,
        run: (visit) => forget(deps, visit),
      },
    },
  };
}

async function forget({ store, recordAction }: ServersDeps, visit: Visit): Promise<ActionOutcome> {
  const route = visibleRoutes(visit).find(({ key }) => key === idOfPath(visit.path));
  const need = route && (await findNeed(store, route.key));
  if (!route || !need || !(await forgetNeed(store, route.key))) return GONE;
  const target = `what is known of the upstream of ${route.key}`;
  recordAction({ action: "forget", by: visit.principal.user.id, target, before: needText(need), after: null });
  return { told: "Forgotten: the gateway finds it out again.", to: addressOfId("servers", route.key) };
}
