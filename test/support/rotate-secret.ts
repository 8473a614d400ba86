/**
 * Rotates the shared secret of running replicas, in the two steps of operations/rotate-keys.md: known to all, then used by
 * all, each replica restarted after the previous one. The old ones stay known.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

export interface RotatingReplica {
  /** Directory of its configuration, whose main file gateway.yaml contains `shared_secret`. */
  readonly directory: string;
  /** Ends and starts it; resolves when it serves. */
  restart(): Promise<void>;
}

export interface RotateOptions {
  /** Base64; a random one when absent. */
  readonly secret?: string;
  /** After each restart: 1 or 2, and of which replica. */
  readonly restarted?: (step: 1 | 2, index: number) => Promise<void>;
}

export async function rotateSecret(
  replicas: readonly RotatingReplica[],
  { secret = randomBytes(32).toString("base64"), restarted }: RotateOptions = {},
): Promise<void> {
  for (const step of [1, 2] as const) {
    for (const [index, replica] of replicas.entries()) {
      const file = join(replica.directory, "gateway.yaml");
      writeFileSync(`${file}.new`, stringify(withSecret(parse(readFileSync(file, "utf8")) as Boot, secret, step)));
      renameSync(`${file}.new`, file);
      await replica.restart();
      await restarted?.(step, index);
    }
  }
}

interface Boot {
  readonly shared_secret: string;
  readonly previous_shared_secret?: string | readonly string[];
}

/** Idempotent: replicas may share their main configuration file. */
function withSecret(boot: Boot, secret: string, step: 1 | 2): Boot {
  const known = new Set([boot.shared_secret, boot.previous_shared_secret ?? []].flat());
  const current = step === 1 ? boot.shared_secret : secret;
  const previous = [...known.add(secret)].filter((each) => each !== current);
  return { ...boot, shared_secret: current, previous_shared_secret: previous };
}
