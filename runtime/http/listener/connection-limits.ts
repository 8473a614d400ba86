/** How many connections a process may hold, so that it never runs out of descriptors. */
import { readFileSync } from "node:fs";

export interface ConnectionLimits {
  /** Of the public listener; undefined = no limit but the system's. */
  readonly public: number | undefined;
  /** To all upstreams together. */
  readonly upstreams: number | undefined;
  /** Of the listener that redirects, and of the admin listener. */
  readonly other: number | undefined;
  /** For the gateway's own requests to the operator's providers, and as many for those to addresses that others named. */
  readonly own: number;
}

/** No provider needs more. */
const MOST_OWN = 1024;

/**
 * Two fifths of what the process may open are for clients, as many for upstreams, however many streams
 * clients open (upstreams/fair-share.ts divides them). What is left is for the other listeners (a twentieth each), requests of our own
 * (two times a 25th), the store and files.
 *
 * @param configured `max_connections`
 */
export function connectionLimits(configured: number | undefined, descriptors = descriptorLimit()): ConnectionLimits {
  if (descriptors === undefined) return { public: configured, upstreams: undefined, other: undefined, own: MOST_OWN };
  const part = Math.floor((descriptors * 2) / 5);
  const forClients = configured ?? part;
  // Where more clients are configured, a fifth is left for the rest all the same.
  const left = descriptors - forClients - Math.floor(descriptors / 5);
  return {
    public: Math.max(1, forClients),
    upstreams: Math.max(1, Math.floor(descriptors / 10), Math.min(part, left)),
    other: Math.max(1, Math.floor(descriptors / 20)),
    own: Math.min(MOST_OWN, Math.max(2, Math.floor(descriptors / 25))),
  };
}

/** The soft limit of open descriptors of this process (which node raises to the hard one); undefined where it is not known. */
function descriptorLimit(): number | undefined {
  let text: string;
  try {
    text = readFileSync("/proc/self/limits", "latin1");
  } catch {
    return undefined;
  }
  const soft = /^Max open files\s+([0-9]+)\s/m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
