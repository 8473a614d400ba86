/**
 * Seals that stay the same while the value and the key do. Each sealing of one text gives another text, and a slice that
 * differs is published and put in force anew.
 */
import { sha256 } from "../../shared/canonical-json.ts";
import type { Seal, SecretOrigin } from "../translate/secret-values.ts";

export interface Seals {
  /** Begins a translation with the key in force. @returns undefined without a key */
  begin(key: string | undefined): Seal | undefined;
  /** Forgets what the translation did not use. */
  end(): void;
}

/** @param seal the origin says whose slice the seal is for */
export function createSeals(seal: (key: string, value: string, origin: SecretOrigin) => Promise<string>): Seals {
  let kept = new Map<string, string>();
  let used = new Map<string, string>();
  return {
    begin(key) {
      used = new Map();
      if (key === undefined) return undefined;
      return async (value, origin) => {
        const { namespace, name, key: member } = origin;
        // Of the value only its hash is kept.
        const id = sha256(JSON.stringify([key, namespace, name, member, value]));
        const sealed = used.get(id) ?? kept.get(id) ?? (await seal(key, value, origin));
        used.set(id, sealed);
        return sealed;
      };
    },
    end() {
      kept = used;
    },
  };
}
