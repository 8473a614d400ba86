/** Numbers of connections that a process may hold, so that it never runs out of descriptors. */
import { readFileSync } from "node:fs";

export interface ConnectionLimits {
  /** Limit of the public listener; undefined = only the system's limit. */
  readonly public: number | undefined;
  /** To all upstreams together. */
  readonly upstreams: number | undefined;
  /** Limit of the plain listener next to the TLS one, and of the admin listener. */
  readonly other: number | undefined;
  /**
   * Limit of the gateway's own requests to the operator's providers, and again of those to addresses that other parties
   * named.
   */
  readonly own: number;
}

/** No provider needs more. */
const MOST_OWN = 1024;

/**
 * Divides the descriptors of the process: two fifths for clients, and two fifths for upstreams, however many streams clients
 * open (upstreams/fair-share.ts divides them). The rest is for the other listeners (a twentieth each), the gateway's own
 * requests (two times a 25th), the store and files.
 *
 * @param configured `max_connections`
 */
export function connectionLimits(configured: number | undefined, descriptors = descriptorLimit()): ConnectionLimits {
  if (descriptors === undefined) return { public: configured, upstreams: undefined, other: undefined, own: MOST_OWN };
  const part = Math.floor((descriptors * 2) / 5);
  const forClients = configured ?? part;
  // Keep a fifth for the rest even if more clients are configured.
  const left = descriptors - forClients - Math.floor(descriptors / 5);
  return {
    public: Math.max(1, forClients),
    upstreams: Math.max(1, Math.floor(descriptors / 10), Math.min(part, left)),
    other: Math.max(1, Math.floor(descriptors / 20)),
    own: Math.min(MOST_OWN, Math.max(2, Math.floor(descriptors / 25))),
  };
}

/** The soft limit of open descriptors of this process (which node raises to the hard one); undefined if unknown. */
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
