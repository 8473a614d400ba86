/** All screens, in the order of the navigation. A new one: a member of `ScreenDeps`, and a line of the list; a kind of objects: its own description. */
import { approvalsScreen } from "./approvals/approvals-screen.ts";
import type { ApprovalsScreenDeps } from "./approvals/deps.ts";
import { type ChangesDeps, changesScreen } from "./changes/changes.ts";
import { clientsScreen } from "./clients/clients.ts";
import { decisionsScreen } from "./decisions/decisions.ts";
import type { DecisionDeps } from "./decisions/deps.ts";
import { objectScreens, type ObjectScreenDeps } from "./objects/object-screen.ts";
import { type HealthScreenDeps, healthScreen } from "./health/screen.ts";
import { type OverviewDeps, overviewScreen } from "./overview/overview.ts";
import { type SearchDeps, searchScreen } from "./search/search.ts";
import { peopleScreen } from "./people/people.ts";
import type { Screen } from "./screen.ts";
import { toolLockScreen, type ToolLockScreenDeps } from "./tool-lock/tool-lock-screen.ts";
import { serversScreen } from "./servers/servers.ts";
import type { SimulatorDeps } from "./simulator/deps.ts";
import { simulatorScreen } from "./simulator/simulator.ts";
import type { ServersDeps } from "./servers/deps.ts";
import type { PeopleDeps } from "./people/deps.ts";
import type { ClientsDeps } from "./clients/deps.ts";

/** What each screen needs, by its name. */
export interface ScreenDeps {
  readonly decisions: DecisionDeps;
  /** Absent, as the others after it: this screen does not exist. */
  readonly overview?: OverviewDeps;
  readonly search?: SearchDeps;
  readonly health?: HealthScreenDeps;
  readonly servers?: ServersDeps;
  readonly people?: PeopleDeps;
  readonly clients?: ClientsDeps;
  readonly approvals?: ApprovalsScreenDeps;
  readonly toolLock?: ToolLockScreenDeps;
  /** Of kinds of objects that have one. */
  readonly objects?: ObjectScreenDeps;
  readonly simulator?: SimulatorDeps;
  readonly changes?: ChangesDeps;
}

export function createScreens({
  overview,
  search,
  decisions,
  health,
  servers,
  people,
  clients,
  approvals,
  toolLock,
  objects,
  simulator,
  changes,
}: ScreenDeps): readonly Screen[] {
  return [
    ...(overview ? [overviewScreen(overview)] : []),
    ...(search ? [searchScreen(search)] : []),
    decisionsScreen(decisions),
    ...(approvals ? [approvalsScreen(approvals)] : []),
    ...(health ? [healthScreen(health)] : []),
    ...(servers ? [serversScreen(servers)] : []),
    ...(people ? [peopleScreen(people)] : []),
    ...(clients ? [clientsScreen(clients)] : []),
    ...(simulator ? [simulatorScreen(simulator)] : []),
    ...(changes ? [changesScreen(changes)] : []),
    ...(toolLock ? [toolLockScreen(toolLock)] : []),
    ...(objects ? objectScreens(objects) : []),
  ];
}
