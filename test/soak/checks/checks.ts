/** What must hold of every history. */
import { BUNDLES } from "./bundles.ts";
import { ENDED_RIGHTS } from "./ended-rights.ts";
import type { Check } from "./evidence.ts";
import { NOTHING_LOST } from "./nothing-lost.ts";
import { ONE_RECORD } from "./records.ts";
import { REDEEMED_ONCE } from "./redeemed-once.ts";

export type { Check, Evidence, Violation } from "./evidence.ts";

export const CHECKS: readonly Check[] = [REDEEMED_ONCE, NOTHING_LOST, ENDED_RIGHTS, BUNDLES, ONE_RECORD];
