/**
 * Compares two checked configurations: which users gain or lose access, for a user who can see all owners' routes, or
 * only some.
 */
import { ownerOfRoute } from "../shared/route-key.ts";
import { differenceOf, type Side } from "../config/diff/difference.ts";
import { isLoss } from "../config/diff/report.ts";
import { settingGaps } from "../config/diff/settings.ts";
import type { DiffStatement } from "../config/diff/statements.ts";
import { placeText, printable, statementText } from "../config/diff/words.ts";
import type { CheckedConfig } from "../config/load.ts";
import type { UserFacts } from "../policy/facts.ts";
import type { Question } from "./explain/question.ts";
import type { Scope, ReportedDifference, ReportedStatement } from "./protocol.ts";
import { settingChanges } from "../config/diff/setting-changes.ts";

const DECISIONS = 2_000_000;
/** Requests per item. */
const CASES = 2_000;
const TIME_MS = 6_000;
const MAX_STATEMENTS = 200;
const MAX_GAPS = 50;
const MAX_TEXT = 1_000;

export interface CompareOptions {
  /** Known users, in addition to representatives of rules. */
  readonly people: readonly UserFacts[];
  readonly scope: Scope;
  /** For users who see only some owners: global settings that these owners set. */
  readonly ownSettings?: ReadonlySet<string>;
}

export function compareConfigs(
  before: CheckedConfig,
  after: CheckedConfig,
  { people, scope, ownSettings }: CompareOptions,
): ReportedDifference {
  const mayShow = (...keys: readonly (string | undefined)[]): boolean =>
    scope === undefined || keys.every((key) => key === undefined || scope.includes(ownerOfRoute(key)));
  const isSwitched = isMcpOn(before) !== isMcpOn(after);
  const side = (config: CheckedConfig): Side => ({
    routes: config.routes,
    mcpEnabled: !isSwitched || isMcpOn(config),
  });
  const endsAt = Date.now() + TIME_MS;
  const limits = { decisions: DECISIONS, cases: CASES, isOver: () => Date.now() > endsAt };
  const found = differenceOf(side(before), side(after), people, limits);
  const own = found.statements.filter(({ place }) => mayShow(place.old?.key, place.new?.key));
  const isElsewhere = own.length < found.statements.length;
  const gaps = scope === undefined ? [...found.gaps, ...settingGaps(before, after)] : ownGaps(found.gaps, scope);
  return {
    before: before.digest,
    after: after.digest,
    statements: own.slice(0, MAX_STATEMENTS).map(reportStatement),
    leftOut: Math.max(0, own.length - MAX_STATEMENTS),
    settings: settingChanges(before, after, ({ route, name }) =>
      route === "" ? scope === undefined || ownSettings?.has(name.split(".")[0] ?? "") === true : mayShow(route),
    ),
    gaps: [
      ...(isElsewhere ? ["what changes at addresses of others, which the gateway's operator can see"] : []),
      ...gaps.slice(0, MAX_GAPS).map((gap) => cut(printable(gap))),
      ...(found.isCut && scope !== undefined ? ["the configuration is too large to compare everything"] : []),
    ],
  };
}

/** "team-a/orders: …": only for these owners' routes. */
function ownGaps(gaps: readonly string[], scope: readonly string[]): readonly string[] {
  return gaps.filter((gap) => scope.some((owner) => gap.startsWith(`${owner}/`)));
}

function reportStatement(statement: DiffStatement): ReportedStatement {
  const { place } = statement;
  return {
    route: place.new?.key ?? place.old?.key ?? "",
    place: cut(printable(placeText(place))),
    kind: isLoss(statement) ? "loses" : "gains",
    text: cut(printable(textOf(statement))),
    example: exampleOf(statement),
  };
}

/** These users are known, not supplied as a list. */
function textOf(statement: DiffStatement): string {
  const text = statementText(statement, { withExamples: true });
  return statement.people === undefined ? text : text.replace(" given users ", " known people ");
}

function exampleOf({ example, direction, who }: DiffStatement): Partial<Question> | undefined {
  const one = direction === "loses" ? example?.loss : (example?.gain ?? example?.loss);
  if (one === undefined) return undefined;
  const { http, mcp } = one.facts;
  const user = who[0]?.user;
  const claims = Object.entries(user?.claims ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => `${name}=${String(each)}`),
  );
  return {
    ...(user ? { user: user.id, email: user.email, groups: user.groups.join(",") } : { anonymous: true }),
    ...(claims.length > 0 && { claim: claims }),
    ...(mcp === undefined && { method: http.method }),
    path: http.path,
    ip: http.ip,
    ...(mcp?.tool !== undefined && { tool: mcp.tool }),
    ...(one.arguments !== undefined && { arguments: one.arguments }),
    ...(mcp?.prompt !== undefined && { prompt: mcp.prompt }),
    ...(mcp?.resource !== undefined && { resource: mcp.resource }),
    ...(mcp?.method !== undefined && mcp.tool === undefined && { mcpMethod: mcp.method }),
  };
}

function isMcpOn({ settings }: CheckedConfig): boolean {
  return settings.runtime_flags?.mcp === true;
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
