/** A complete difference: as text, as data, and in few lines for a plan. */
import type { Difference } from "./difference.ts";
import type { SettingChange } from "./setting-changes.ts";
import { namesOf, type DiffStatement } from "./statements.ts";
import { placeText, printable, statementText } from "./words.ts";

export interface DiffReport extends Difference {
  /** Number of users supplied in addition to the configurations. */
  readonly people: number;
  /** Settings that change where routes lead. */
  readonly leads: readonly SettingChange[];
  /** Changed history rules, in words. */
  readonly history: readonly string[];
}

/** Limits of every comparison. */
const ALWAYS = [
  "users with several groups or claims that no rule names together",
  "paths, tools, prompts and resources that no rule names, beyond one for all of them",
  "texts that match a pattern (`matches`, regex), beyond an example",
];

export function differenceText({
  statements,
  gaps,
  leads,
  history,
}: Pick<DiffReport, "statements" | "gaps" | "leads" | "history">): string {
  const gains = statements.filter((each) => !isLoss(each));
  const losses = statements.filter(isLoss);
  const same = leads.length === 0 ? "No access change for the compared users." : "No access change.";
  const nothing = statements.length === 0 ? [same] : [];
  const parts = [
    ...nothing,
    ...section("Gains, the widest first:", gains),
    ...section("Losses:", losses),
    ...(history.length === 0 ? [] : [["History rules:", ...history.map((each) => `  ${printable(each)}`)].join("\n")]),
    ...leadSection(leads),
    ["Not compared:", ...[...gaps, ...ALWAYS].map((gap) => `  ${printable(gap)}`)].join("\n"),
  ];
  return parts.join("\n\n");
}

function leadSection(leads: readonly SettingChange[]): readonly string[] {
  if (leads.length === 0) return [];
  const byRoute = Map.groupBy(leads, ({ route }) => route);
  const texts = [...byRoute].map(([route, changes]) => {
    const lines = changes.map((change) => `    ${printable(leadText(change))}`);
    return [`  ${route === "" ? "all routes" : printable(route)}`, ...lines].join("\n");
  });
  return [["Upstreams and what they receive:", ...texts].join("\n")];
}

function leadText({ name, change, before, after }: SettingChange): string {
  if (before === undefined && after === undefined) return `${name}: ${change}`;
  return `${name}: was ${before ?? "not set"}, is ${after ?? "not set"}`;
}

export function differenceJson({ statements, gaps, people, leads, history }: DiffReport): string {
  const changes = statements.map((each) => ({
    route: each.place.new?.key ?? each.place.old?.key,
    address: each.place.address,
    was: each.place.old && { route: each.place.old.key, address: each.place.old.address },
    direction: each.direction,
    before: each.before,
    after: each.after,
    who: each.who.map(({ kind, name, user }) => ({ kind, name, ...(kind === "person" && { id: user?.id }) })),
    what: each.items.map(({ kind, name, isRest }) => ({ kind, name: isRest ? "*" : name })),
    could_already: each.direction === "loses" ? [] : namesOf(each.unchanged),
    keeps_it: each.direction === "loses" ? namesOf(each.unchanged) : [],
    still_not: namesOf(each.still),
    ...exampleOf(each),
    text: statementText(each, { withExamples: true }),
  }));
  return JSON.stringify(
    { changes, leads, history_rules: history, people, not_looked_at: [...gaps, ...ALWAYS] },
    null,
    2,
  );
}

function exampleOf({ example, direction, who }: DiffStatement): object {
  const one = direction === "loses" ? example?.loss : (example?.gain ?? example?.loss);
  if (one === undefined) return {};
  const { http, devices, mcp } = one.facts;
  const { arguments: _, ...message } = mcp ?? {};
  return {
    example: {
      ...(who[0]?.user && { user: { ...who[0].user, ...(one.actor && { actor: one.actor }) } }),
      http,
      ...(devices && { devices }),
      ...(mcp && { mcp: { ...message, ...(one.arguments !== undefined && { arguments: one.arguments }) } }),
    },
  };
}

/** One line per statement, without the rules' values for arguments and addresses. */
export function differenceLines({ statements, gaps, isCut }: Difference): readonly string[] {
  const lines = statements.map((each) => {
    const { old, new: next } = each.place;
    const text = `${isLoss(each) ? "-" : "+"} ${(next ?? old)?.key ?? ""}: ${statementText(each, { withExamples: false })}`;
    return cut(printable(text));
  });
  if (gaps.length === 0 || (statements.length === 0 && !isCut)) return lines;
  return [
    ...lines,
    `${isCut ? "A plan has no time to compare everything." : "Not everything can be compared."} Run \`gateway diff OLD NEW\` on the published and the planned slice: it ${isCut ? "compares more and " : ""}lists what is left.`,
  ];
}

const MAX_LINE = 240;

function cut(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
}

function section(title: string, statements: readonly DiffStatement[]): readonly string[] {
  if (statements.length === 0) return [];
  const places = new Map<DiffStatement["place"], string[]>();
  for (const each of statements) {
    const lines = places.get(each.place) ?? [];
    lines.push(`    ${printable(statementText(each, { withExamples: true }))}`);
    places.set(each.place, lines);
  }
  const texts = [...places].map(([place, lines]) => [`  ${printable(placeText(place))}`, ...lines].join("\n"));
  return [[title, ...texts].join("\n")];
}

export function isLoss({ direction }: DiffStatement): boolean {
  return direction === "loses" || direction === "hidden";
}
