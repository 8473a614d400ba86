/** A replay's report as text, and as JSON. */
import type { ReplayReport } from "./replay.ts";
import { type Example, type Group, type ReportedChange, type ReplayVerdict } from "./tally.ts";

export interface ReportAbout {
  /** File or directory of the new configuration. */
  readonly config: string;
  readonly digest: string;
  /** Notes on the result, a sentence each. */
  readonly notes: readonly string[];
}

/** Groups that are shown of each kind; --json has them all. */
const MAX_SHOWN = 20;
const MAX_EXAMPLES = 3;

const KINDS: readonly (readonly [kind: ReportedChange, title: string])[] = [
  ["loses", "Would lose"],
  ["gains", "Would gain"],
  ["undecidable", "Cannot be decided"],
];

export function formatReplay(report: ReplayReport, { config, digest, notes }: ReportAbout): string {
  const { counts, records, since, until } = report;
  const parts = [
    safe(
      `${plural(records, "record")} from ${since} to ${until}, decided again under ${config} (${digest.slice(0, 12)})`,
    ),
    table([
      ["same", counts.same, "decided as before"],
      ["would lose", counts.loses, "denied under the new configuration, or allowed only with an approval"],
      ["would gain", counts.gains, "allowed under the new configuration, or with an approval at least"],
      ["cannot be decided", counts.undecidable, "the records lack facts that the new rules need"],
      [
        "rejected before policy",
        counts.refused,
        "invalid credentials, blocks, unreadable messages; policy does not change that",
      ],
    ]),
    ...KINDS.flatMap(([kind, title]) => kindText(report, kind, title)),
    ...candidatesText(report),
    ...brokenText(report),
    ...notes.map((note) => safe(`note: ${note}`)),
    verdictText(report),
  ];
  return parts.join("\n\n");
}

export function replayJson(report: ReplayReport, { config, digest, notes }: ReportAbout): string {
  const { result, records, since, until, counts, untold, candidates, ...rest } = report;
  const printed = {
    result,
    config,
    digest,
    records,
    since,
    until,
    counts,
    undecidable: Object.fromEntries(untold),
    shadow: Object.fromEntries(candidates),
    ...rest,
    notes,
  };
  return JSON.stringify(printed, null, 2);
}

const HINT =
  "  (`authorize_log_key` adds digests of arguments and claims; `record_arguments.plain` of a route what rules compare beyond equality)";

function kindText({ groups, untold, others }: ReplayReport, kind: ReportedChange, title: string): readonly string[] {
  const found = groups
    .filter(({ counts }) => counts[kind] > 0)
    .toSorted((one, other) => other.counts[kind] - one.counts[kind]);
  const why = kind === "undecidable" ? [...untold].map(([reason, count]) => [count, reason] as const) : [];
  if (found.length === 0 && why.length === 0) return [];
  const rows = found
    .slice(0, MAX_SHOWN)
    .map(({ user, route, what, counts }) => [counts[kind], userText(user), route, what]);
  const lines = [title];
  if (why.length > 0) lines.push(table(why), HINT);
  if (rows.length > 0) lines.push(table(rows));
  const more = found.length - rows.length;
  if (more > 0) lines.push(`  … and ${more} more users, routes and tools (--json has them)`);
  if (others > 0) lines.push(`  ${others} changes of other users, routes and tools are only counted`);
  const examples = found.slice(0, MAX_EXAMPLES).flatMap((group) => exampleText(group, group.examples[kind]));
  if (examples.length > 0) lines.push("  for example", ...examples);
  return [lines.join("\n")];
}

function exampleText({ user, what }: Group, example: Example | undefined): readonly string[] {
  if (!example) return [];
  const { file, line, time, requestId, host, path, was, would, untold = [] } = example;
  const id = requestId === "" ? "" : `, request ${requestId}`;
  const change = would ? `${verdict(was)}, now ${verdict(would)}` : `${verdict(was)}; now: ${untold.join(", ")}`;
  return [
    `    ${time} ${userText(user)}: ${what} at ${host}${path} (${file}:${line}${id})`,
    `      then ${change}`,
  ].map(safe);
}

function candidatesText({ candidates }: ReplayReport): readonly string[] {
  if (candidates.size === 0) return [];
  const rows = [...candidates].map(([name, { loses, gains, undecidable }]) => [
    name,
    `${loses} would lose, ${gains} would gain, ${undecidable} cannot be decided`,
  ]);
  return [["In shadow under the new configuration; changes if enforced", table(rows)].join("\n")];
}

function brokenText({ broken, brokenLines }: ReplayReport): readonly string[] {
  if (broken === 0) return [];
  const lines = brokenLines.map(({ file, line, problem }) => safe(`  ${file}:${line}: ${problem}`));
  const more = broken - brokenLines.length;
  return [
    [`${plural(broken, "line")} cannot be read`, ...lines, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n"),
  ];
}

function verdictText({ result, counts }: ReplayReport): string {
  switch (result) {
    case "changed":
      return `changed: ${counts.loses} would lose, ${counts.gains} would gain`;
    case "partly":
      return "no change seen, but not all records could be decided";
    case "same":
      return "no change";
  }
  return result satisfies never;
}

const OUTCOME_WORDS = { allow: "allowed", approve: "allowed with an approval", deny: "denied" };

function verdict({ outcome, reasons }: ReplayVerdict): string {
  return `${OUTCOME_WORDS[outcome]} (${reasons.join(", ")})`;
}

function userText(user: string): string {
  return user === "" ? "(not signed in)" : user;
}

function table(written: readonly (readonly (string | number)[])[]): string {
  const rows = written.map((row) => row.map((cell) => (typeof cell === "string" ? safe(cell) : cell)));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        typeof cell === "number" ? String(cell).padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      );
      return `  ${cells.join("  ")}`.trimEnd();
    })
    .join("\n");
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** One line of text: foreign names must neither steer the terminal nor start a new line. */
function safe(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}
