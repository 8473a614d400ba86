/**
 * Checked texts → one snapshot, in slices of time between requests.
 *
 * A compiled route is used again when its text, the settings and the secrets it read are the same, so that what hangs on
 * it (assertions, connections) survives a reload of others.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

import { compileRoute, compileSettings } from "../config/compile.ts";
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import { formatPath, type Problem } from "../config/problem.ts";
import type { RouteDoc } from "../config/route.ts";
import type { SecretSource } from "../config/secrets.ts";
import type { SettingsDoc } from "../config/settings.ts";
import { canonicalJson } from "../config/slice.ts";
import { errorText } from "../errors.ts";
import type { RouteText } from "./protocol.ts";

/** What one build leaves for the next. */
export interface Build {
  readonly settings: LiveSettings;
  readonly routes: readonly CompiledRoute[];
  /** Nothing differs from the build before. */
  readonly unchanged: boolean;
  readonly settingsText: string;
  readonly settingsSecrets: Secrets;
  readonly compiled: ReadonlyMap<string, Compiled>;
}

interface Compiled {
  readonly text: string;
  readonly route: CompiledRoute;
  readonly secrets: Secrets;
}

/** What was read while compiling: reference or sealed text → value. */
type Secrets = ReadonlyMap<string, string>;

export interface BuildInput {
  readonly settings: SettingsDoc;
  readonly routes: readonly RouteText[];
  readonly secrets: SecretSource;
  /** File to name when an owner's route cannot be compiled. */
  readonly fileOf: (owner: string) => string;
}

export type BuildOutcome =
  | { readonly ok: true; readonly build: Build }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Compiling longer than this at a stretch would show in the latency of requests. */
const TURN_BUDGET_MS = 2;

/** @param last the build whose parts may be used again */
export async function buildSnapshot(input: BuildInput, last: Build | undefined): Promise<BuildOutcome> {
  const problems: Problem[] = [];
  const settings = settingsOf(input, last, problems);
  if (!settings) return { ok: false, problems };
  const reusable = settings.value === last?.settings ? last : undefined;
  const compiled = new Map<string, Compiled>();
  const routes: CompiledRoute[] = [];
  let unchanged = reusable !== undefined && reusable.routes.length === input.routes.length;
  let turnStartedMs = performance.now();

  for (const text of input.routes) {
    const known = reusable?.compiled.get(text.key);
    const kept = known?.text === text.text && sameSecrets(known.secrets, input.secrets) ? known : undefined;
    const entry = kept ?? compileOne(text, settings.value, input, problems);
    if (!kept) unchanged = false;
    if (entry) {
      compiled.set(text.key, entry);
      routes.push(entry.route);
    }
    if (performance.now() - turnStartedMs > TURN_BUDGET_MS) {
      await nextTurn();
      turnStartedMs = performance.now();
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  const build = { settings: settings.value, routes, unchanged, compiled };
  return { ok: true, build: { ...build, settingsText: settings.text, settingsSecrets: settings.secrets } };
}

function settingsOf(input: BuildInput, last: Build | undefined, problems: Problem[]) {
  const text = canonicalJson(input.settings);
  if (last?.settingsText === text && sameSecrets(last.settingsSecrets, input.secrets)) {
    return { value: last.settings, text, secrets: last.settingsSecrets };
  }
  try {
    const { source, secrets } = recording(input.secrets);
    return { value: compileSettings(input.settings, source), text, secrets };
  } catch (error) {
    problems.push({ severity: "error", file: input.fileOf("default"), path: "", message: errorText(error) });
    return undefined;
  }
}

function compileOne(
  { key, owner, name, text }: RouteText,
  settings: LiveSettings,
  { secrets: all, fileOf }: BuildInput,
  problems: Problem[],
): Compiled | undefined {
  try {
    const { source, secrets } = recording(all);
    const doc = JSON.parse(text) as RouteDoc;
    return { text, route: compileRoute({ key, owner, name, doc, text }, settings, source), secrets };
  } catch (error) {
    const path = formatPath(["routes", key.slice(owner.length + 1)]);
    problems.push({ severity: "error", file: fileOf(owner), path, message: errorText(error) });
    return undefined;
  }
}

function recording(source: SecretSource): { readonly source: SecretSource; readonly secrets: Secrets } {
  const secrets = new Map<string, string>();
  const recorded = (name: string, value: string): string => {
    secrets.set(name, value);
    return value;
  };
  return {
    secrets,
    source: {
      resolve: (ref) => recorded(`ref ${ref}`, source.resolve(ref)),
      open: (sealed) => recorded(`sealed ${sealed}`, source.open(sealed)),
    },
  };
}

/** Whether everything read then would be read alike now. */
function sameSecrets(before: Secrets, now: SecretSource): boolean {
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
