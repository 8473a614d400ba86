/** `gateway diff`: access gained and lost, and routes with other targets, when one configuration replaces another. */
import { problemsText } from "../../config/surfaces/documentation.ts";
import { differenceOf, type Side } from "../../config/diff/difference.ts";
import { differenceJson, differenceText } from "../../config/diff/report.ts";
import { historyChanges } from "../../config/diff/history-changes.ts";
import { leadChanges } from "../../config/diff/setting-changes.ts";
import { settingGaps } from "../../config/diff/settings.ts";
import { readSources } from "../../bundle/sources.ts";
import { type CheckedConfig, loadSlices, type SliceSource } from "../../config/load.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import { readSource } from "../../settings/source.ts";
import { type ConfigWithClasses, withFileClasses } from "../file-classes.ts";
import { readRecordedUsers, readUsers } from "./people.ts";

export interface DiffOptions {
  /** File of users, see people.ts. */
  readonly users?: string;
  /** File of authorization records. */
  readonly records?: string;
  readonly json?: boolean;
}

/** The exit codes of the command, as those of `gateway replay`. */
export const DIFF_EXIT = { same: 0, problem: 1, different: 3 } as const;

export interface DiffAnswer {
  readonly text: string;
  readonly answer: keyof typeof DIFF_EXIT;
}

const DECISIONS = 5_000_000;
/** Limit for requests per item. */
const CASES = 2_000;

/** @param old and `next`: a main configuration file, a directory, or one slice */
export async function diffConfigurations(old: string, next: string, options: DiffOptions): Promise<DiffAnswer> {
  try {
    const [was, is] = [await readConfig(old), await readConfig(next)];
    const [before, after] = [was.config, is.config];
    const listed = options.users === undefined ? [] : await readUsers(options.users);
    const recorded = options.records === undefined ? undefined : await readRecordedUsers(options.records);
    const known = new Set(listed.map(({ id }) => id));
    const people = [...listed, ...(recorded?.users ?? []).filter(({ id }) => !known.has(id))];
    const isSwitched = isMcpOn(before) !== isMcpOn(after);
    const side = (config: CheckedConfig): Side => ({
      routes: config.routes,
      mcpEnabled: !isSwitched || isMcpOn(config),
    });
    const found = differenceOf(side(before), side(after), people, { decisions: DECISIONS, cases: CASES });
    const gaps = [
      ...found.gaps,
      ...settingGaps(before, after),
      ...new Set([...was.unknown.values(), ...is.unknown.values()]),
      ...(recorded && recorded.unread > 0 ? [`lines of the records that cannot be read: ${recorded.unread}`] : []),
      ...(recorded && recorded.leftOut > 0
        ? [`recorded users beyond the first 10,000: ${recorded.leftOut} or more`]
        : []),
    ];
    const leads = leadChanges(before, after);
    const history = historyChanges(before.routes, after.routes);
    const report = { ...found, gaps, leads, history, people: people.length };
    const text = options.json === true ? differenceJson(report) : differenceText(report);
    return { text, answer: found.statements.length + leads.length + history.length === 0 ? "same" : "different" };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { text: errorText(error), answer: "problem" };
  }
}

function isMcpOn({ settings }: CheckedConfig): boolean {
  return settings.runtime_flags?.mcp === true;
}

async function readConfig(path: string): Promise<ConfigWithClasses> {
  const { config, problems } = loadSlices((await readSources([path])).map(asSlice));
  if (!config)
    throw new GatewayError("config.invalid", problemsText(problems.filter(({ severity }) => severity === "error")));
  return withFileClasses(config);
}

/** A published slice in a single file, which is not a main configuration file. */
function asSlice(source: SliceSource, _: number, all: readonly SliceSource[]): SliceSource {
  if (all.length > 1 || !source.boot) return source;
  const { value } = readSource(source.file, source.text);
  return isRecord(value) && Object.hasOwn(value, "version") ? { ...source, boot: false } : source;
}
