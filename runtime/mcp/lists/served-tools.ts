/**
 * Names of the tools that lists of this process have shown to each user: for pages of that user.
 *
 * Servers can list other tools for other users, and a policy without tool names allows any of them. So a page must not name
 * a tool only because another user's list had it.
 *
 * Bounded: names of a route as in `../listed-tools.ts`; a bit for each name and user, of the users who listed last.
 */
import { BoundedCache, type Visited } from "../../shared/cache.ts";

const MAX_NAMES = 300;
const MAX_USERS = 20_000;
const BITS = 32;

/** Position of each name of a route. */
type Places = Map<string, number>;

interface Shown extends Visited {
  /** Other ones after the route was gone for a while: then the bits say nothing. */
  readonly names: Places;
  /** A bit at the position of each name. */
  readonly bits: Uint32Array;
}

export interface ServedTools {
  /** @returns call it with each tool of one list */
  adder(routeKey: string, userId: string): (tool: string) => void;
  namesFor(routeKey: string, userId: string): readonly string[];
  /** Forgets other routes. */
  retain(routeKeys: ReadonlySet<string>): void;
}

export function createServedTools(): ServedTools {
  const routes = new Map<string, Places>();
  const shown = new BoundedCache<Shown>(MAX_USERS);
  const keyOf = (routeKey: string, userId: string): string => `${routeKey}\n${userId}`;
  const shownTo = (key: string, names: Places): Shown => {
    const known = shown.get(key);
    if (known?.names === names) return known;
    const made = { names, bits: new Uint32Array(Math.ceil(MAX_NAMES / BITS)), visited: false };
    shown.set(key, made);
    return made;
  };

  return {
    adder(routeKey, userId) {
      let names = routes.get(routeKey);
      if (!names) routes.set(routeKey, (names = new Map()));
      const places = names;
      let of: Shown | undefined;
      return (tool) => {
        const place = places.get(tool) ?? places.size;
        if (place >= MAX_NAMES) return;
        if (place === places.size) places.set(tool, place);
        of ??= shownTo(keyOf(routeKey, userId), places);
        const at = Math.floor(place / BITS);
        of.bits[at] = (of.bits[at] ?? 0) | (1 << (place % BITS));
      };
    },
    namesFor(routeKey, userId) {
      const of = shown.get(keyOf(routeKey, userId));
      if (!of || of.names !== routes.get(routeKey)) return [];
      const isShown = (place: number): boolean =>
        ((of.bits[Math.floor(place / BITS)] ?? 0) & (1 << (place % BITS))) !== 0;
      return [...of.names].flatMap(([name, place]) => (isShown(place) ? name : []));
    },
    retain(routeKeys) {
      for (const key of routes.keys()) if (!routeKeys.has(key)) routes.delete(key);
    },
  };
}
