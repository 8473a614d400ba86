/** Command line of `gateway replay`. */
import { problemsText } from "../../config/surfaces/documentation.ts";
import { type CheckedConfig, loadSlices } from "../../config/load.ts";
import { readSources } from "../../bundle/sources.ts";
import { vaultOf } from "../../bundle/boot.ts";
import { secretNeeds } from "../../bundle/build/secret-needs.ts";
import { readSecrets } from "../../bundle/secrets.ts";
import { decodeRecordKey, recordKey } from "../../features/records/compile.ts";
import { secretUses } from "../../settings/secret-forms.ts";
import { settingsFields } from "../../config/settings.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { withFileClasses } from "../file-classes.ts";
import { progressOn } from "./progress.ts";
import { replay, REPLAY_EXIT } from "./replay.ts";
import { formatReplay, replayJson } from "./text.ts";

/** Options of the command line. */
export interface ReplayOptions {
  readonly records: readonly string[];
  readonly config: string;
  /** "env:NAME", "file:/path": key of the digests in the records; default: the configuration's own. */
  readonly key?: string;
  readonly json?: boolean;
}

export interface ReplayDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: no progress output. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** @throws GatewayError `config.unreadable`, `config.invalid`, `config.secret`, `replay.unreadable`, `replay.nothing` */
export async function replayCommand(
  options: ReplayOptions,
  { env, progress }: ReplayDeps,
): Promise<{ readonly text: string; readonly exitCode: number }> {
  const loaded = loadSlices(await readSources([options.config]));
  if (!loaded.config) throw new GatewayError("config.invalid", problemsText(loaded.problems));
  const { config, unknown } = withFileClasses(loaded.config);
  const { key, note } = await findKey(options, config, env);
  const report = await replay({ files: options.records, config, key, progress });
  const about = {
    config: options.config,
    digest: config.digest,
    notes: [...(note === undefined ? [] : [note]), ...unknown.values()],
  };
  const text = options.json === true ? replayJson(report, about) : formatReplay(report, about);
  return { text, exitCode: REPLAY_EXIT[report.result] };
}

/** The same, with progress on a terminal. */
export async function replayWithProgress(
  options: ReplayOptions,
  env: ReplayDeps["env"],
  terminal: NodeJS.WriteStream,
): ReturnType<typeof replayCommand> {
  const progress = progressOn(terminal);
  try {
    return await replayCommand(options, { env, progress: progress && ((...of) => progress.show(...of)) });
  } finally {
    progress?.end();
  }
}

interface FoundKey {
  readonly key: Uint8Array | undefined;
  /** Why there is none, although the configuration has one. */
  readonly note?: string;
}

/** Key of the digests in the records. */
export async function findKey(
  { key }: Pick<ReplayOptions, "key">,
  { boot }: CheckedConfig,
  env: ReplayDeps["env"],
): Promise<FoundKey> {
  if (key !== undefined) {
    const secrets = await readSecrets({ refs: [key], sealed: [] }, { env });
    return { key: decodeRecordKey(secrets.resolve(key)) };
  }
  const uses = secretUses(settingsFields, boot).filter(({ name }) => name === "authorize_log_key");
  const vault = vaultOf(boot, { env });
  try {
    return { key: recordKey(boot, await readSecrets(secretNeeds(uses), { env, vault })) };
  } catch (error) {
    // A reviewer may have the configuration and the records, but not the secrets.
    if (!(error instanceof GatewayError)) throw error;
    return { key: undefined, note: `digests in the records cannot be compared: ${errorText(error)}` };
  } finally {
    await vault?.close();
  }
}
