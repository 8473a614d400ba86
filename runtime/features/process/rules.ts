/** Rules between the settings of one source. */
import type { ProcessDoc } from "./settings.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { decodeSharedSecret } from "./settings.ts";

/** Only plain-text secrets can be validated here; the others are validated when the snapshot is built. */
export function* sharedSecrets(settings: Partial<ProcessDoc>): Iterable<UnplacedProblem> {
  const problem = "must be base64 of at least 32 bytes, make one with `openssl rand -base64 32`";
  const { shared_secret: current, previous_shared_secret: previous = [] } = settings;
  if (current !== undefined && !decodeSharedSecret(current)) yield errorAt(["shared_secret"], problem);
  const earlier = typeof previous === "string" ? [previous] : previous;
  for (const [index, secret] of earlier.entries()) {
    const path = typeof previous === "string" ? [] : [index];
    if (!decodeSharedSecret(secret)) yield errorAt(["previous_shared_secret", ...path], problem);
  }
}

export function* tracingHeaders({ tracing }: Partial<ProcessDoc>): Iterable<UnplacedProblem> {
  for (const [name, header] of Object.entries(tracing?.headers ?? {})) {
    if (Object.keys(header).length === 0)
      yield errorAt(["tracing", "headers", name], 'has no value, must have "value", "value_ref" or "value_sealed"');
  }
}
