/**
 * Boot settings as written → compiled, with their own secrets read. Done once, at start, and before anything else: they
 * say where the store is that has the published slices.
 */
import { sqlitePath } from "../../store/sqlite/sqlite-path.ts";
import type { BootSettings } from "../../config/compiled.ts";
import { resolve } from "node:path";
import { type BootDoc, settingsFields } from "../../config/settings.ts";
import { decodeSharedSecret } from "../../features/process/settings.ts";
import { compileBoot } from "../../config/compile-settings.ts";
import { formatProblem, loadSlices, type Problem } from "../../config/load.ts";
import { readSlice } from "../../config/read-slice.ts";
import { secretUses, secretValues } from "../../settings/secret-spellings.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createKeys } from "../../shared/keys.ts";
import { type SecretNeeds, secretNeeds } from "./secret-needs.ts";
import { createSealing, readSecrets, type SecretDeps, type Sealing } from "./secrets.ts";
import { readTogether } from "./sources.ts";

export interface Boot {
  /** As written. */
  readonly doc: BootDoc;
  readonly settings: BootSettings;
  /** Absent without `shared_secret`. */
  readonly sealing: Sealing | undefined;
}

/**
 * Reads the boot file alone; the rest of the configuration may still be wrong.
 *
 * @param path a configuration file, or a directory with a boot file
 * @throws GatewayError `config.invalid` with every problem of all files, `config.secret`
 */
export async function readBoot(path: string, env: SecretDeps["env"] = process.env): Promise<Boot> {
  const { sources, problems, unread } = await readTogether(path);
  const file = sources.find((source) => source.boot);
  const found: Problem[] = [];
  const slice = file && readSlice(file, found);
  const isBad = found.some(({ severity, path: where }) => severity === "error" && where[0] !== "routes");
  if (slice && !isBad) return resolveBoot(slice.boot, env);
  const all = [...problems, ...unread, ...loadSlices(sources).problems];
  if (!file && problems.length === 0) {
    all.push({ severity: "error", file: path, path: [], message: "has no boot file, must have a gateway.yaml" });
  }
  throw new GatewayError("config.invalid", all.map(formatProblem).join("\n"));
}

/** @throws GatewayError `config.secret` */
export async function resolveBoot(doc: BootDoc, env: SecretDeps["env"]): Promise<Boot> {
  const needs = secretNeeds(secretUses(settingsFields, doc));
  const sealing = await sealingOf(doc, { refs: needs.refs, sealed: [] }, env);
  const settings = compileBoot(doc, await readSecrets(needs, { env, sealing }));
  return { doc, settings, sealing };
}

/** The key to sealed secrets is made from `shared_secret`, so that one cannot itself be sealed. */
async function sealingOf(doc: BootDoc, needs: SecretNeeds, env: SecretDeps["env"]): Promise<Sealing | undefined> {
  const secrets = await readSecrets(needs, { env });
  const source = {
    resolve: (ref: string) => secrets.resolve(ref),
    open: () => {
      throw new GatewayError("config.secret", 'Cannot read a sealed "shared_secret": it is what opens sealed secrets');
    },
  };
  const written = ["shared_secret", "previous_shared_secret"].flatMap((name) => secretValues(doc, name, source));
  // What is too short or no base64 is reported by the compiler.
  const raw = written.flatMap((value) => decodeSharedSecret(value) ?? []);
  return raw.length > 0 && raw.length === written.length ? createSealing(createKeys(raw)) : undefined;
}

/** The record log, and the database with the files that SQLite keeps beside it (`-wal`, `-shm`, `-journal`). */
export function isWrittenBy({ authorizeLog, storageUrl }: BootSettings, file: string): boolean {
  if (file === resolve(authorizeLog)) return true;
  const database = sqlitePath(storageUrl);
  return database !== undefined && (file === database || file.replace(/-[a-z]+$/, "") === database);
}
