/** Snapshots from YAML, through the same loading and compiling as production. */
import {
  compileBoot,
  compileRoute,
  compileSettings,
  type SecretSource,
} from "../../runtime/config/compile-settings.ts";
import type { BootSettings, CompiledRoute } from "../../runtime/config/compiled.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { type CheckedConfig, formatProblem, loadSlices } from "../../runtime/config/load.ts";

export interface SnapshotOptions {
  readonly generation?: number;
  /** By reference ("env:NAME", "file:/path") or sealed text. Anything else throws, as production does. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** File name in messages. */
  readonly file?: string;
}

/** Base64 of 32 zero bytes: what tests that name no secret get. */
export const TEST_SHARED_SECRET = Buffer.alloc(32).toString("base64");

const BOOT_DEFAULTS: Readonly<Record<string, string>> = {
  shared_secret: TEST_SHARED_SECRET,
  storage_url: "memory:",
  insecure_server: "true",
};

/**
 * A compiled snapshot of a hand-written configuration; `shared_secret`, `storage_url: memory:` and
 * `insecure_server: true` are filled in where the text has none; JSON (by the name of the file) is left as it is.
 *
 * @throws Error with every problem when the text is bad
 */
export function snapshotFrom(yaml: string, options: SnapshotOptions = {}): Snapshot {
  const config = checkedFrom(yaml, options);
  const secrets = secretsFrom(options.secrets ?? {});
  const settings = compileSettings(config.settings, secrets);
  const routes = config.routes.map((route) => compileRoute(route, settings, secrets));
  return { digest: config.digest, generation: options.generation ?? 1, settings, routes };
}

/** The static settings of the same text, with defaults. */
export function bootFrom(yaml: string, options: SnapshotOptions = {}): BootSettings {
  return compileBoot(checkedFrom(yaml, options).boot, secretsFrom(options.secrets ?? {}));
}

/** The checked configuration of the same text. */
export function checkedFrom(yaml: string, options: SnapshotOptions = {}): CheckedConfig {
  const text = options.file?.endsWith(".json") ? yaml : withDefaults(yaml);
  const { config, problems } = loadSlices([{ file: options.file ?? "test.yaml", text, boot: true }]);
  if (!config) throw new Error(`Cannot load the test configuration:\n${problems.map(formatProblem).join("\n")}`);
  return config;
}

/** The route with this name; throws when there is none. */
export function routeNamed(snapshot: Snapshot, name: string): CompiledRoute {
  const route = snapshot.routes.find((each) => each.name === name);
  if (!route)
    throw new Error(`Cannot find route "${name}" among ${snapshot.routes.map((each) => each.name).join(", ")}`);
  return route;
}

/** Secrets that tests hand in; strict like the real source. */
export function secretsFrom(known: Readonly<Record<string, string>>): SecretSource {
  const find = (name: string): string => {
    const value = known[name];
    if (value === undefined) throw new Error(`Cannot resolve the test secret "${name}"`);
    return value;
  };
  return { resolve: find, open: find };
}

/** Appended, not prepended, so that lines in messages are those of the test's text. */
function withDefaults(yaml: string): string {
  const missing = Object.entries(BOOT_DEFAULTS).filter(
    ([name]) => !new RegExp(`^\\s*${name}(_ref|_sealed)?\\s*:`, "m").test(dedent(yaml)),
  );
  const lines = missing.map(([name, value]) => `${name}: "${value}"`.replace('"true"', "true"));
  return `${dedent(yaml)}\n${lines.join("\n")}\n`;
}

/** Test texts are written indented inside template literals. */
function dedent(text: string): string {
  const lines = text.split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)?.[0].length ?? 0);
  const common = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  return lines.map((line) => line.slice(Math.min(common, line.length))).join("\n");
}
