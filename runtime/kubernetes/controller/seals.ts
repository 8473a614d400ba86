/**
 * Caches seals while value and key stay the same. Each sealing gives another text, and a changed slice would be published and
 * activated again.
 */
import { sha256 } from "../../shared/canonical-json.ts";
import type { Seal, SecretOrigin } from "../translate/secret-values.ts";

export interface Seals {
  /** Starts a translation with the current key. @returns undefined without a key */
  begin(key: string | undefined): Seal | undefined;
  /** Drops seals that the translation did not use. */
  end(): void;
}

/** @param seal its origin names the slice that the seal is for */
export function createSeals(seal: (key: string, value: string, origin: SecretOrigin) => Promise<string>): Seals {
  let previous = new Map<string, string>();
  let used = new Map<string, string>();
  return {
    begin(key) {
      used = new Map();
      if (key === undefined) return undefined;
      return async (value, origin) => {
        const { namespace, name, key: member } = origin;
        // Stores only a hash of the value.
        const id = sha256(JSON.stringify([key, namespace, name, member, value]));
        const sealed = used.get(id) ?? previous.get(id) ?? (await seal(key, value, origin));
        used.set(id, sealed);
        return sealed;
      };
    },
    end() {
      previous = used;
    },
  };
}
