/**
 * `gateway check`: reports everything that would prevent `gateway run` from starting and needs no socket, in one run.
 *
 * First the files. If they are valid: the settings that the process needs and no slice can set; then the parts of the
 * host that runs it: secrets, certificates, and directories to write to.
 *
 * Only the start itself can show whether ports are free and allowed, whether PostgreSQL responds, and whether the store
 * works with `--workers`.
 */
import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { resolveBoot } from "../../bundle/boot.ts";
import { buildSnapshot } from "../../bundle/build/build.ts";
import { secretNeeds } from "../../bundle/build/secret-needs.ts";
import { readSecrets, type SecretDeps } from "../../bundle/secrets.ts";
import { readSources } from "../../bundle/sources.ts";
import { type CheckReport, formatCheck } from "../check.ts";
import type { BootSettings } from "../../config/compiled.ts";
import { loadByOwner } from "../../config/load-by-owner.ts";
import { hostCertificateFields } from "../../features/listener/host-certificates.ts";
import { type CheckedConfig, loadSlices, type Problem, type SliceSource } from "../../config/load.ts";
import { routeFields } from "../../config/route.ts";
import { quote } from "../../settings/problem.ts";
import { secretUses } from "../../settings/secret-forms.ts";
import { settingsFields } from "../../config/settings.ts";
import { errorText } from "../../shared/errors.ts";
import { loadAuthorities, loadCertificates } from "../../http/listener/certificates.ts";
import { loadBranding } from "../../http/branding.ts";
import { type ListenAddress, parseAddress } from "../../http/listener/listen.ts";
import { NO_CERTIFICATE_PROBLEM } from "../../http/listener/server.ts";
import { sqlitePath } from "../../store/sqlite/sqlite-path.ts";

export interface CheckOptions {
  readonly env: SecretDeps["env"];
  /** Another host will run it: its secrets and files are not here. */
  readonly elsewhere: boolean;
}

/**
 * @param paths the first is the main configuration file, or contains it
 * @throws GatewayError `config.unreadable`
 */
export async function checkConfiguration(paths: readonly string[], options: CheckOptions): Promise<CheckReport> {
  const sources = await readSources(paths);
  const { problems, config, owners } = loadSlices(sources);
  const bootFile = sources.find(({ boot }) => boot)?.file;
  if (!config || bootFile === undefined) return withOwners(formatCheck(problems, config), sources);
  const fileOf = (owner: string): string =>
    [...owners].find(([file, of]) => of === owner && file !== bootFile)?.[0] ?? bootFile;
  const found: Problem[] = [];
  const report = (message: string): void => {
    found.push({ severity: "error", file: bootFile, path: [], message });
  };
  const { insecure_server: isInsecure, certificates, acme } = config.boot;
  if (isInsecure !== true && certificates === undefined && acme === undefined)
    report(`cannot listen: ${NO_CERTIFICATE_PROBLEM}`);
  if (!options.elsewhere) {
    const boot = await attempt(() => resolveBoot(config.boot, { env: options.env }), report);
    if (boot) await checkPlaces(boot.settings, report);
    // Without the main configuration file's own secrets (already reported), sealed values cannot be opened.
    const secrets = { env: options.env, sealing: boot?.sealing, vault: boot ? boot.vault : UNASKED };
    found.push(...(await secretProblems(config, secrets, fileOf)));
    await boot?.vault?.close();
  }
  return formatCheck([...problems, ...found], config);
}

/** Reports what a gateway started with these sources would do, since one owner's mistake does not stop the others. */
function withOwners(report: CheckReport, sources: readonly SliceSource[]): CheckReport {
  const { config, standings } = loadByOwner({ sources });
  const absent = standings.filter(({ standing }) => standing === "absent");
  if (!config || absent.length === 0) return report;
  const names = absent.map(({ owner, files }) => (owner === undefined ? files.join(" ") : `owner "${owner}"`));
  return { ...report, text: `${report.text}\na gateway that starts with this configuration omits ${names.join(", ")}` };
}

/** Replaces a server whose own secrets could not be read; the cause was already reported. */
const UNASKED: SecretDeps["vault"] = {
  read: async (refs) =>
    new Map(
      refs.map((ref) => [
        ref,
        { failure: "not read, because the main configuration file's own secrets cannot be read" },
      ]),
    ),
};

type Report = (message: string) => void;

/** Checks certificates and directories of the host. */
async function checkPlaces(boot: BootSettings, report: Report): Promise<void> {
  const { adminTls } = boot;
  await attempt(() => loadBoth(boot.certificates, boot.downstreamMtls?.caFile), report);
  if (adminTls) await attempt(() => loadBoth([adminTls], adminTls.clientCaFile), report);
  const { branding } = boot;
  if (branding) await attempt(() => loadBranding(branding), report);
  const database = sqlitePath(boot.storageUrl);
  if (database !== undefined && (await checkWritable("storage_url", database, report))) {
    if (!(await mayBeDatabase(database))) report(`"storage_url" names "${database}", which is not an SQLite database`);
  }
  if (boot.authorizeLog !== "stdout") await checkWritable("authorize_log", boot.authorizeLog, report);
  checkPorts(boot, report);
}

async function loadBoth(files: BootSettings["certificates"], caFile: string | undefined): Promise<void> {
  await loadCertificates(files, await loadAuthorities(caFile));
}

/** Only the start can show whether a port is in use or not allowed. */
function checkPorts({ address, adminAddress, httpRedirectAddress }: BootSettings, report: Report): void {
  const listeners = Object.entries({
    address,
    admin_address: adminAddress,
    ...(httpRedirectAddress !== undefined && { http_redirect_address: httpRedirectAddress }),
  }).map(([setting, text]) => ({ setting, text, ...parseAddress(text) }));
  for (const [index, one] of listeners.entries()) {
    const other = listeners.slice(index + 1).find((each) => each.port === one.port && sharesHost(each, one));
    if (other && one.port !== 0)
      report(
        `"${one.setting}" and "${other.setting}" listen on the same port: ${quote(one.text)}, ${quote(other.text)}`,
      );
  }
}

function sharesHost({ host: one }: ListenAddress, { host: other }: ListenAddress): boolean {
  return one === other || isEveryHost(one) || isEveryHost(other);
}

function isEveryHost(host: string | undefined): boolean {
  return host === undefined || host === "0.0.0.0" || host === "::";
}

/** A missing or empty file will be created as a database. */
async function mayBeDatabase(file: string): Promise<boolean> {
  const opened = await open(file).catch(() => undefined);
  if (!opened) return true;
  try {
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(SQLITE_HEAD.length), 0, SQLITE_HEAD.length, 0);
    return bytesRead === 0 || buffer.toString("latin1", 0, bytesRead) === SQLITE_HEAD;
  } finally {
    await opened.close();
  }
}

/** @see https://www.sqlite.org/fileformat.html#magic_header_string */
const SQLITE_HEAD = "SQLite format 3\0";

/**
 * An existing file must be writable; a missing one needs a writable directory. @returns false after reporting a problem
 */
async function checkWritable(setting: string, file: string, report: Report): Promise<boolean> {
  const exists = await can(file, constants.F_OK);
  const target = exists ? file : dirname(resolve(file));
  if (exists && (await stat(file)).isDirectory()) report(`"${setting}" names "${file}", which is a directory`);
  else if (await can(target, constants.W_OK)) return true;
  else report(`"${setting}" needs "${target}", which does not exist or is not writable`);
  return false;
}

function can(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** @returns undefined after reporting a failure */
async function attempt<T>(work: () => Promise<T>, report: Report): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    report(errorText(error));
    return undefined;
  }
}

/** Secrets of settings and routes, and keys and certificates of connections to upstreams that depend on them. */
async function secretProblems(
  { boot, settings, certificates, routes, files }: CheckedConfig,
  from: SecretDeps,
  fileOf: (owner: string) => string,
): Promise<readonly Problem[]> {
  const uses = [
    ...secretUses(settingsFields, settings),
    ...certificates.flatMap(({ doc }) => secretUses(hostCertificateFields, doc)),
    ...routes.flatMap(({ doc }) => secretUses(routeFields, doc)),
  ];
  const secrets = await readSecrets({ ...secretNeeds(uses), files }, from);
  const separatesOwners = boot.owners !== undefined;
  const input = { settings, certificates, separatesOwners, routes, secrets, fileOf };
  const outcome = await buildSnapshot(input, undefined);
  return outcome.ok ? [] : outcome.problems;
}
