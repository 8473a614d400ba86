/**
 * Compiles the static settings with their own secrets, once, before anything else: they locate the store that has the
 * published slices.
 */
import { problemsText } from "../config/surfaces/documentation.ts";
import { sqlitePath } from "../store/sqlite/sqlite-path.ts";
import type { BootSettings } from "../config/compiled.ts";
import { resolve } from "node:path";
import { type BootDoc, settingsFields } from "../config/settings.ts";
import { decodeSharedSecret } from "../features/process/settings.ts";
import { compileBoot } from "../config/compile-settings.ts";
import { loadSlices, type Problem } from "../config/load.ts";
import { readBootFile } from "../config/read-slice.ts";
import { secretUses, secretValues } from "../settings/secret-forms.ts";
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
  /** The settings as written. */
  readonly doc: BootDoc;
  readonly settings: BootSettings;
  /** Absent without `shared_secret`. */
  readonly sealing: Sealing | undefined;
  /** Absent without `vault`. The reader of the main configuration file closes it. */
  readonly vault: Vault | undefined;
}

export interface BootOptions {
  readonly env: SecretDeps["env"];
  /** The process is starting: waits a while for the secrets server. Default: one attempt. */
  readonly starts?: boolean;
  readonly onWait?: OnWait;
  readonly vault?: Partial<VaultDeps>;
}

/**
 * Reads only the main configuration file; the rest of the configuration may still be wrong.
 *
 * @param path a configuration file, or a directory with a main configuration file
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
    all.push({
      severity: "error",
      file: path,
      path: [],
      message: "has no main configuration file, must have a gateway.yaml",
    });
  }
  throw new GatewayError("config.invalid", problemsText(all));
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

/** Logs that the start takes longer, and why. */
export function logsWait(openLog: () => Pick<Log, "warn">): OnWait {
  return (reason) => {
    const log = openLog();
    log.warn({ reason }, "waiting for secret store");
  };
}

/** Measures durations only, so a change of the system clock must not matter. */
const STEADY: Clock = { now: () => performance.now() };

/**
 * Client of the server of `vault:` references, to be closed by the caller; undefined if the main configuration file has
 * no `vault`.
 */
export function vaultOf({ vault, ...doc }: BootDoc, options: BootOptions): Vault | undefined {
  if (!vault) return undefined;
  const { env } = options;
  /** Read from its source at each login, because a SecretID can change. */
  const secretId = async (): Promise<string | undefined> => {
    const { approle = {} } = vault.login;
    const needs = secretNeeds(secretUses(settingsFields, { vault }));
    const sealing = needs.sealed.length > 0 ? await sealingOf(doc, bootNeeds(doc), { env }) : undefined;
    return secretValues(approle, "secret_id", await readSecrets(needs, { env, sealing }))[0];
  };
  return new Vault(compileVault(vault), { clock: STEADY, secretId, ...options.vault });
}

/**
 * Waits a while for the secrets server, which a starting process needs, then subscribes to its changes.
 *
 * @returns unsubscribe
 */
export async function followVault(
  { vault }: Boot,
  refs: readonly string[],
  onChange: () => void,
  log: Log,
): Promise<() => void> {
  await vault?.readAtStart(
    refs.filter(isVaultReference),
    logsWait(() => log),
  );
  return vault?.onChange(onChange) ?? ignore;
}

function bootNeeds(doc: BootDoc): SecretNeeds {
  return { ...secretNeeds(secretUses(settingsFields, doc)), sealed: [] };
}

/** The key for sealed secrets is derived from `shared_secret`, so that secret cannot itself be sealed. */
async function sealingOf(doc: BootDoc, needs: SecretNeeds, deps: SecretDeps): Promise<Sealing | undefined> {
  const secrets = await readSecrets(needs, deps);
  const source = {
    resolve: (ref: string) => secrets.resolve(ref),
    open: () => {
      throw new GatewayError(
        "config.secret",
        'Cannot use a sealed "shared_secret": it is needed to decrypt sealed secrets',
      );
    },
  };
  const written = ["shared_secret", "previous_shared_secret"].flatMap((name) => secretValues(doc, name, source));
  // The compiler reports values that are too short or not base64.
  const raw = written.flatMap((value) => decodeSharedSecret(value) ?? []);
  return raw.length > 0 && raw.length === written.length ? createSealing(createKeys(raw)) : undefined;
}

/** Whether `file` is the record log, the database, or one of SQLite's files next to it (`-wal`, `-shm`, `-journal`). */
export function isWrittenBy({ authorizeLog, storageUrl }: BootSettings, file: string): boolean {
  if (file === resolve(authorizeLog)) return true;
  const database = sqlitePath(storageUrl);
  return database !== undefined && (file === database || file.replace(/-[a-z]+$/, "") === database);
}
