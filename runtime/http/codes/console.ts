/** Codes of the console. */
import type { CodeEntry } from "./entry.ts";

export const CONSOLE_CODES = {
  "console.too-many": {
    status: 429,
    means: "Somebody asks for more pages of the console than anybody reads",
    remedy: "Wait; look for a script that reloads the page",
  },
  "console.streams": {
    status: 503,
    means: "As many pages show new decisions as a process lets",
    remedy: "Nothing: the page shows what was there when it was loaded",
  },
  "console.unavailable": {
    status: 503,
    means: "The console cannot be shown: the store cannot be reached",
    remedy: "Ask `/readyz`; look for `cannot verify credential` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
