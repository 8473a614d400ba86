/** All screens, in the order of the navigation. A new one: a member of `ScreenDeps`, and a line of the list. */
import type { Screen } from "./screen.ts";

/** What each screen needs, by its name: `people: PeopleDeps`. */
export interface ScreenDeps {}

export function createScreens(_deps: ScreenDeps): readonly Screen[] {
  return [];
}
