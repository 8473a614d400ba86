/**
 * Boot settings as written → compiled, with their own secrets read. Done once, at start, and before anything else: they
 * say where the store is that has the published slices.
 */
import { sqlitePath } from "../store/sqlite/sqlite-path.ts";
import type { BootSettings } from "../config/compiled.ts";
import { resolve } from "node:path";
import { type BootDoc, settingsFields } from "../config/settings.ts";
import { decodeSharedSecret } from "../features/process/settings.ts";
import { compileBoot } from "../config/compile-settings.ts";
import { formatProblem, loadSlices, type Problem } from "../config/load.ts";
import { readBootFile } from "../config/read-slice.ts";
import { secretUses, secretValues } from "../settings/secret-spellings.ts";
import { isVaultReference } from "../settings/vault-reference.ts";
import { GatewayError } from "../shared/errors.ts";
import { createKeys } from "../shared/keys.ts";
import { ignore } from "../shared/ignore.ts";
import type { Log } from "../shared/log.ts";
import type { Clock } from "../shared/clock.ts";
import { compileVault } from "../features/process/vault.ts";
import { type OnWait, Vault, type VaultDeps } from "../vault/vault.ts";
import { type SecretNeeds, secretNeeds } from "./build/secret-needs.ts";
import { createSealing, readSecrets, type SecretDeps, type Sealing } from "./secrets.ts";
import { readTogether } from "./sources.ts";

export interface Boot {
  /** As written. */
  readonly doc: BootDoc;
  readonly settings: BootSettings;
  /** Absent without `shared_secret`. */
  readonly sealing: Sealing | undefined;
  /** Absent without `vault`. Whoever read the boot file closes it. */
  readonly vault: Vault | undefined;
}

export interface BootOptions {
  readonly env: SecretDeps["env"];
  /** The process begins, and waits for the server of its secrets a while. Default: it is asked once. */
  readonly starts?: boolean;
  readonly onWait?: OnWait;
  readonly vault?: Partial<VaultDeps>;
}

/**
 * Reads the boot file alone; the rest of the configuration may still be wrong.
 *
 * @param path a configuration file, or a directory with a boot file
 * @throws GatewayError `config.invalid` with every problem of all files, `config.secret`
 */
export async function readBoot(path: string, options: BootOptions = { env: process.env }): Promise<Boot> {
  const { sources, problems, unread } = await readTogether(path);
  const file = sources.find((source) => source.boot);
  const found: Problem[] = [];
  const boot = file && readBootFile(file, found);
  const isBad = found.some(({ severity, path: where }) => severity === "error" && where[0] !== "routes");
  if (boot && !isBad) return resolveBoot(boot, options);
  const all = [...problems, ...unread, ...loadSlices(sources).problems];
  if (!file && problems.length === 0) {
    all.push({ severity: "error", file: path, path: [], message: "has no boot file, must have a gateway.yaml" });
  }
  throw new GatewayError("config.invalid", all.map(formatProblem).join("\n"));
}

/** @throws GatewayError `config.secret` */
export async function resolveBoot(doc: BootDoc, options: BootOptions): Promise<Boot> {
  const { env, starts = false, onWait } = options;
  const needs = secretNeeds(secretUses(settingsFields, doc));
  const vault = vaultOf(doc, options);
  try {
    if (starts) await vault?.readAtStart(needs.refs.filter(isVaultReference), onWait);
    const deps = { env, vault };
    const sealing = await sealingOf(doc, bootNeeds(doc), deps);
    const settings = compileBoot(doc, await readSecrets(needs, { ...deps, sealing }));
    return { doc, settings, sealing, vault };
  } catch (error) {
    await vault?.close();
    throw error;
  }
}

/** Says that the start takes longer, and why. */
export function saysWait(openLog: () => Pick<Log, "warn">): OnWait {
  return (reason) => {
    const log = openLog();
    log.warn({ reason }, "waiting for secret store");
  };
}

/** Only spans of time are measured, which go on alike when the machine's clock is set. */
const STEADY: Clock = { now: () => performance.now() };

/** The server of `vault:` references; undefined when the boot file names none. Whoever asks closes it. */
export function vaultOf({ vault, ...doc }: BootDoc, options: BootOptions): Vault | undefined {
  if (!vault) return undefined;
  const { env } = options;
  /** A SecretID may be another one at each login, and is then read where it was written. */
  const secretId = async (): Promise<string | undefined> => {
    const { approle = {} } = vault.login;
    const needs = secretNeeds(secretUses(settingsFields, { vault }));
    const sealing = needs.sealed.length > 0 ? await sealingOf(doc, bootNeeds(doc), { env }) : undefined;
    return secretValues(approle, "secret_id", await readSecrets(needs, { env, sealing }))[0];
  };
  return new Vault(compileVault(vault), { clock: STEADY, secretId, ...options.vault });
}

/**
 * Waits a while for the server of secrets, which a process that begins cannot do without; from then on its news are told.
 *
 * @returns unsubscribe
 */
export async function followVault(
  { vault }: Boot,
  refs: readonly string[],
  onNews: () => void,
  log: Log,
): Promise<() => void> {
  await vault?.readAtStart(
    refs.filter(isVaultReference),
    saysWait(() => log),
  );
  return vault?.onChange(onNews) ?? ignore;
}

function bootNeeds(doc: BootDoc): SecretNeeds {
  return { ...secretNeeds(secretUses(settingsFields, doc)), sealed: [] };
}

/** The key to sealed secrets is made from `shared_secret`, so that one cannot itself be sealed. */
async function sealingOf(doc: BootDoc, needs: SecretNeeds, deps: SecretDeps): Promise<Sealing | undefined> {
  const secrets = await readSecrets(needs, deps);
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
