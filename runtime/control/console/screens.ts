/** All screens, in the order of the navigation. A new one: a member of `ScreenDeps`, and a line of the list. */
import { type DecisionDeps, decisionsScreen } from "./decisions/decisions.ts";
import type { Screen } from "./screen.ts";

/** What each screen needs, by its name. */
export interface ScreenDeps {
  readonly decisions: DecisionDeps;
}

export function createScreens({ decisions }: ScreenDeps): readonly Screen[] {
  return [decisionsScreen(decisions)];
}
