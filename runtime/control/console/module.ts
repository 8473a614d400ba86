/** Puts the parts of the console together. */
import type { Endpoint } from "../../http/endpoint.ts";
import { consoleEndpoints, type ConsoleDeps } from "./console.ts";
import { createScreens, type ScreenDeps } from "./screens.ts";
import { createVisits } from "./visits.ts";

export interface ConsoleModuleDeps extends Omit<ConsoleDeps, "visits" | "screens"> {
  readonly screens: ScreenDeps;
}

export function createConsole(deps: ConsoleModuleDeps): readonly Endpoint[] {
  const visits = createVisits(deps);
  return consoleEndpoints({ ...deps, visits, screens: createScreens(deps.screens) });
}
