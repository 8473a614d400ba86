/** What a fault is: chosen by the schedule, aimed by the seed, struck, and healed. */
import type { Disturbance } from "../history/history.ts";
import type { SoakGateway } from "../world/gateways.ts";
import type { Random } from "../../support/random.ts";
import type { SoakWorld } from "../world/world.ts";

export interface Fault {
  /** Its row in runtime/operations/failure-modes.md. */
  readonly name: string;
  readonly disturbs: readonly Disturbance[];
  /** From strike to healing, seconds: at least and at most. */
  readonly lasts: readonly [number, number];
  /** The same in the form of a minute; absent: it is too long or too dear for that. */
  readonly briefly?: number;
  /** Why it cannot happen here; undefined: it can. */
  readonly missing: (world: SoakWorld) => string | undefined;
  /** Decides whom it hits; nothing happens yet. */
  readonly aim: (world: SoakWorld, random: Random) => Aimed;
}

export interface Aimed {
  readonly replicas: readonly SoakGateway[];
  readonly detail?: string;
  strike(): Promise<void>;
  /** Resolves when nothing keeps the world from working. */
  heal(): Promise<void>;
  /** What is put right afterwards, while traffic works already. */
  after?(): Promise<void>;
  /** What went wrong that no history shows; asked at last. */
  readonly problems?: readonly string[];
}

export const always = (): undefined => undefined;

export function oneOf<T>(all: readonly T[], random: Random): T {
  const chosen = all[Math.floor(random() * all.length)];
  if (chosen === undefined) throw new Error("There is nothing to choose from");
  return chosen;
}

export function between([least, most]: readonly [number, number], random: Random): number {
  return least + random() * (most - least);
}
