/** Whether every process that shows signs of life has a publication in force. */
import type { PresenceRow } from "./presence.ts";

export interface Laggard {
  readonly id: string;
  readonly reason: string;
}

export interface Liveness {
  /** Processes that show signs of life. */
  readonly replicas: number;
  /** Those that do not have it in force (yet). */
  readonly laggards: readonly Laggard[];
}

export function livenessOf(rows: readonly PresenceRow[], generation: number, owners: readonly string[]): Liveness {
  const behind = rows.filter((row) => isBehind(row, generation, owners));
  return { replicas: rows.length, laggards: behind.map((row) => laggardOf(row, generation, owners)) };
}

export function isBehind(
  { published, degraded = [] }: PresenceRow,
  generation: number,
  owners: readonly string[],
): boolean {
  return published < generation || degraded.some(({ owner }) => owners.includes(owner));
}

/** A laggard's reason without the problems of a whole configuration, which are of all owners. */
export function withoutRefusal(reason: string): string {
  return reason.split(REFUSED, 1)[0] as string;
}

function laggardOf(
  { id, published, refused, degraded = [] }: PresenceRow,
  generation: number,
  owners: readonly string[],
): Laggard {
  const state = `is at generation ${published}`;
  if (published < generation) {
    const reason = refused ? `${state}${REFUSED}${refused.generation}: ${refused.problems.join("; ")}` : state;
    return { id, reason };
  }
  const reasons = degraded
    .filter(({ owner }) => owners.includes(owner))
    .map(({ owner, problems }) => `does not serve what "${owner}" published: ${problems.join("; ")}`);
  return { id, reason: `${state} and ${reasons.join(", ")}` };
}

/** Between where a process is and why it is not further. */
export const REFUSED = " and refused ";
