/**
 * Secrets that could not be refreshed: what was compiled with their previous values stays active, and its owners get a
 * problem.
 */
import { HOST_CERTIFICATES } from "../../features/listener/host-certificates.ts";
import { HAND_WRITTEN_OWNER } from "../../features/process/owners.ts";
import type { ValuePath } from "../../settings/problem.ts";
import type { Secrets } from "./recorded-secrets.ts";
import type { Build, BuildInput, Stale, CompiledCertificates } from "./build-types.ts";

interface Compiled {
  readonly settings: Secrets;
  readonly compiled: Build["compiled"];
  readonly certificates: CompiledCertificates;
}

export function* lateSecrets(
  { secrets: { late }, fileOf }: Pick<BuildInput, "secrets" | "fileOf">,
  { settings, compiled, certificates }: Compiled,
): Iterable<Stale> {
  if (!late || late.size === 0) return;
  yield* of(HAND_WRITTEN_OWNER, [], settings, late);
  for (const [key, { secrets }] of compiled) yield* of(...ownerAndPath(key, ["routes"]), secrets, late);
  for (const [key, { secrets }] of certificates) {
    yield* of(...ownerAndPath(key, ["settings", HOST_CERTIFICATES]), secrets, late);
  }

  function* of(owner: string, path: ValuePath, secrets: Secrets, why: ReadonlyMap<string, string>): Iterable<Stale> {
    for (const name of secrets.keys()) {
      const ref = name.slice("ref ".length);
      const reason = name.startsWith("ref ") ? why.get(ref) : undefined;
      if (reason === undefined) continue;
      const message = `Cannot refresh secret "${ref}", its last value stays active: ${reason}`;
      yield { owner, isLate: true, problem: { severity: "error", file: fileOf(owner), path, message } };
    }
  }
}

/** "<owner>/<name>", where the name can contain a "/". */
function ownerAndPath(key: string, above: readonly string[]): [owner: string, path: ValuePath] {
  const at = key.indexOf("/");
  return [key.slice(0, at), [...above, key.slice(at + 1)]];
}
