/** Sizes of the works, which the upstream and the checks share. */
export const ITEMS_BYTES = 1024;
export const RESULT_BYTES = 4096;
export const TOOLS = 50;
/** Tools that the rule denies, and that lists hide where a gateway can do that. */
export const DENIED_TOOLS = 20;
export const EVENTS = 100;
export const EVENT_EVERY_MS = 5;
export const ROUTES = 1000;

export const DENIED_PREFIX = "delete_";

const NAMED = new Map([
  [0, "delete_issue"],
  [2, "get_issue"],
  [3, "stream_events"],
]);

/** Two of five are denied. */
export function toolName(index: number): string {
  return NAMED.get(index) ?? `${index % 5 < 2 ? DENIED_PREFIX : "get_"}item_${index}`;
}
