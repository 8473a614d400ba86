/** The screen of blocks, from their description. */
import { BLOCK } from "../../../administration/block.ts";
import type { Clock } from "../../../shared/clock.ts";
import { objectScreen, type ObjectScreenDeps } from "../objects/object-screen.ts";
import type { Screen } from "../screen.ts";

export interface BlocksScreenDeps extends ObjectScreenDeps {
  readonly clock: Clock;
}

export const blocksScreen = (deps: BlocksScreenDeps): Screen => objectScreen(BLOCK, deps);
