/**
 * Texts that could not be compiled. Their owner is served from the previous version, and they are not retried until one
 * of their secrets changes.
 */
import { ownerOfRoute } from "../shared/route-key.ts";
import type { Refusal } from "../config/refusals.ts";
import type { Refusals } from "./validation/protocol.ts";
import { readSecrets, type SecretDeps } from "./secrets.ts";
import type { Failure } from "./build/build-types.ts";

export interface RefusedOwners {
  current(): Refusals;
  /** References of secrets whose change permits a retry. */
  refs(): readonly string[];
  /** Removes entries whose secrets changed, so that they are retried. */
  review(deps: SecretDeps): Promise<void>;
  /** @returns false if no failure is new: a retry gives the same result */
  add(failures: readonly Failure[], deps: SecretDeps): Promise<boolean>;
  /** Removes entries of all other owners. */
  keepOnly(owners: readonly string[]): void;
}

/** One failure suffices to fall back to the previous version; a few are reported. */
const MAX_OF_ONE_OWNER = 10;

interface Entry extends Failure {
  readonly fingerprint: string;
}

export function createRefused(): RefusedOwners {
  let entries: readonly Entry[] = [];
  let key = 0;
  let list: readonly Refusal[] = [];

  return {
    current: () => ({ key, list }),
    refs: () => entries.flatMap(({ needs }) => needs.refs),
    async review(deps) {
      const same: Entry[] = [];
      for (const entry of entries) {
        if ((await readSecrets(entry.needs, deps)).fingerprint === entry.fingerprint) same.push(entry);
      }
      become(same);
    },
    async add(failures, deps) {
      const fresh: Entry[] = [];
      const counts = new Map<string, number>();
      for (const failure of failures) {
        const owner = ownerOfRoute(failure.key ?? "");
        const count = (counts.get(owner) ?? 0) + 1;
        counts.set(owner, count);
        if (count > MAX_OF_ONE_OWNER || entries.some((entry) => isSame(entry, failure))) continue;
        fresh.push({ ...failure, fingerprint: (await readSecrets(failure.needs, deps)).fingerprint });
      }
      become([...entries, ...fresh]);
      return fresh.length > 0;
    },
    keepOnly(owners) {
      const ofRoutes = entries.filter((entry) => entry.key !== undefined && owners.includes(ownerOfRoute(entry.key)));
      const ofSettings = entries.filter((entry) => entry.key === undefined).slice(-MAX_OF_ONE_OWNER);
      // The key stays: removed entries did not affect what was loaded with them.
      entries = [...ofRoutes, ...ofSettings];
      list = entries.map(refusalOf);
    },
  };

  function become(next: readonly Entry[]): void {
    if (next.length === entries.length && next.every((entry, index) => entry === entries[index])) return;
    entries = next;
    key += 1;
    list = entries.map(refusalOf);
  }
}

function refusalOf({ key, text, message }: Entry): Refusal {
  return { key, text, message };
}

function isSame(one: Refusal, other: Refusal): boolean {
  return one.key === other.key && one.text === other.text && one.message === other.message;
}
