/**
 * Records the secrets read during a compilation, to find out later whether the same reads would give the same values.
 */
import type { SecretSource } from "../../settings/secret-forms.ts";
import { GatewayError } from "../../shared/errors.ts";

/** Reference or sealed text → value. */
export type Secrets = ReadonlyMap<string, string>;

/** @param owner owner of the compiled text */
export function recording(
  source: SecretSource,
  owner?: string,
): { readonly source: SecretSource; readonly secrets: Secrets } {
  const secrets = new Map<string, string>();
  const recorded = (name: string, value: string): string => {
    secrets.set(name, value);
    return value;
  };
  return {
    secrets,
    source: {
      resolve: (ref) => recorded(`ref ${ref}`, source.resolve(ref, owner)),
      open: (sealed) => recorded(`sealed ${sealed}`, source.open(sealed)),
    },
  };
}

/**
 * Compiles with previously read secrets; undefined if it needs others or fails with these.
 *
 * @param over references whose previous values must not be used
 */
export function compiledWith<T>(
  secrets: Secrets,
  compile: (source: SecretSource) => T,
  over?: ReadonlySet<string>,
): T | undefined {
  if ([...secrets.keys()].some((name) => name.startsWith("ref ") && over?.has(name.slice("ref ".length))))
    return undefined;
  const read = (name: string): string => {
    const value = secrets.get(name);
    if (value === undefined) throw new GatewayError("config.secret", "Cannot read a secret: it was not read before");
    return value;
  };
  try {
    return compile({ resolve: (ref) => read(`ref ${ref}`), open: (sealed) => read(`sealed ${sealed}`) });
  } catch {
    return undefined;
  }
}

/** Whether every recorded read would give the same value now. */
export function sameSecrets(before: Secrets, now: SecretSource): boolean {
  for (const [name, value] of before) {
    try {
      const [kind, rest] = [name.slice(0, name.indexOf(" ")), name.slice(name.indexOf(" ") + 1)];
      if ((kind === "ref" ? now.resolve(rest) : now.open(rest)) !== value) return false;
    } catch {
      return false;
    }
  }
  return true;
}
