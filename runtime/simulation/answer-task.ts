/** In the draft thread: reads the current configuration, inserts a draft, and answers one question about it. */
import { tablesOf } from "../config/diff/places.ts";
import type { OwnersOutcome } from "../config/load-by-owner.ts";
import { type CheckedConfig, createRouteMemory, type Problem, type RouteMemory } from "../config/load.ts";
import { readOutline } from "../config/outline.ts";
import { readSlice, type SliceSource } from "../config/read-slice.ts";
import { formatPath } from "../settings/problem.ts";
import { readSource } from "../settings/source.ts";
import { isRecord } from "../shared/is-record.ts";
import { yamlText } from "../shared/json/yaml-text.ts";
import { ownerOfRoute } from "../shared/route-key.ts";
import { createPreviousSlices } from "../bundle/previous-slices.ts";
import { readTogether, type SourceReading } from "../bundle/sources.ts";
import type { PublishedSources } from "../bundle/validation/protocol.ts";
import { ELSEWHERE, seenProblem } from "../bundle/validation/seen-problems.ts";
import {
  fewOfEach,
  objections,
  type ValidationContext,
  validateReading,
} from "../bundle/validation/validate-reading.ts";
import { explainedRoute } from "./explain/explained-route.ts";
import { explainRequest } from "./explain/explain-request.ts";
import { questionText, readQuestion } from "./explain/question.ts";
import { compareConfigs } from "./compare.ts";
import { type Draft, ownerOf, type PlacedDraft, insertDraft } from "./draft.ts";
import { exportDraft } from "./export-draft.ts";
import type { DraftBase, RouteChoice, Scope, Task, TaskAnswer, ReportedDraft, ReportedProblem } from "./protocol.ts";

export interface ThreadSettings {
  /** A configuration file, or a directory. */
  readonly path: string;
  /** Keys that open previous slices: 32 bytes each, current first. */
  readonly sealKeys: readonly Uint8Array[];
}

export type AnswerTask = (task: Task, ground: DraftBase) => Promise<TaskAnswer>;

export function createAnswerTask({ path, sealKeys }: ThreadSettings): AnswerTask {
  // One for each side: each side would evict the other's entries.
  const memories = { now: createRouteMemory(), other: createRouteMemory() };
  const kept = createPreviousSlices(sealKeys);
  const contextOf = (memory: RouteMemory): ValidationContext => ({
    path,
    previous: kept.byOwner,
    refusals: [],
    memory,
  });

  return async (task, { published, kept: sealed }) => {
    kept.open(sealed);
    const files = await readTogether(path);
    const now = withPublished(files, published);
    switch (task.kind) {
      case "compare-draft": {
        const draft = applyDraft(now, task.draft, task.scope);
        if (draft.config === undefined) return { kind: "draft", report: draft.report };
        const before = inForce(now);
        if (!before) return NOT_READABLE;
        const names = settingNames([...now.sources, ...draft.sources], task.draft.owner);
        const difference = compareConfigs(before, draft.config, { ...task, ownSettings: names });
        return { kind: "draft", report: { ...draft.report, difference } };
      }
      case "explain-draft": {
        const draft = applyDraft(now, task.draft, task.scope);
        if (draft.config === undefined) return none("the draft is not valid");
        return explainIn(draft.config, task);
      }
      case "export-draft": {
        const placed = insertDraft(now.sources, task.draft);
        const source = placed.ok ? placed.sources.find(({ file }) => file === placed.file) : undefined;
        const exported = source && exportDraft(source, task.draft, task.format, task.where);
        return exported ? { kind: "exported", exported } : none("the draft cannot be read");
      }
      case "read-policy":
        return readPolicy(now.sources, task.route);
      case "compare-published": {
        const before = inForce(withPublished(files, task.before), memories.other);
        const after = inForce(withPublished(files, task.after));
        if (!before || !after) return NOT_READABLE;
        const difference = compareConfigs(before, after, { people: [], scope: task.scope });
        return { kind: "difference", difference };
      }
    }
    return task satisfies never;
  };

  function inForce(reading: SourceReading, memory = memories.now): CheckedConfig | undefined {
    return validateReading(reading, contextOf(memory)).config;
  }

  function applyDraft(now: SourceReading, draft: Draft, scope: Scope): Drafted {
    const placed = insertDraft(now.sources, draft);
    if (!placed.ok) return { sources: [], report: { isGood: false, problems: placed.problems.map(placedProblem) } };
    const reading = { ...now, sources: placed.sources };
    const context = contextOf(memories.other);
    const outcome = validateReading(reading, context);
    const candidates = { owners: [draft.owner], files: new Set([placed.file]) };
    const against = objections(reading, outcome, candidates, context);
    const isGood = against.length === 0 && outcome.config !== undefined;
    const report = {
      isGood,
      problems: reportedProblems(isGood ? warnings(outcome) : against, placed, scope, outcome.owners),
    };
    return { sources: placed.sources, report, ...(isGood && { config: outcome.config }) };
  }
}

interface Drafted {
  readonly sources: readonly SliceSource[];
  readonly report: ReportedDraft;
  /** Only if valid. */
  readonly config?: CheckedConfig | undefined;
}

function withPublished(files: SourceReading, { sources }: PublishedSources): SourceReading {
  return { ...files, sources: [...files.sources, ...sources] };
}

function warnings({ problems }: OwnersOutcome): readonly Problem[] {
  return problems.filter(({ severity }) => severity === "warning");
}

/** Problems of the draft itself, and for users with full access also those of others. */
function reportedProblems(
  problems: readonly Problem[],
  { file, hasLines }: Extract<PlacedDraft, { readonly ok: true }>,
  scope: Scope,
  owners: OwnersOutcome["owners"],
): readonly ReportedProblem[] {
  const isSeen = (rival: string): boolean => scope === undefined || scope.includes(owners.get(rival) ?? "");
  const found = problems.filter((problem) => problem.file === file);
  const own = fewOfEach(found.map((problem) => seenProblem(problem, isSeen)));
  const others = problems.filter((problem) => problem.file !== file && problem.severity === "error");
  const report = own.map((problem) => placedProblem(hasLines ? problem : { ...problem, line: undefined }));
  if (others.length === 0) return report;
  if (scope !== undefined) return [...report, { severity: "error", path: "", message: ELSEWHERE }];
  return [
    ...report,
    ...fewOfEach(others).map((each) => ({
      ...placedProblem({ ...each, line: undefined }),
      message: `${each.file}: ${each.message}`,
    })),
  ];
}

function placedProblem({
  severity,
  path,
  line,
  message,
}: Omit<Problem, "file" | "line"> & { line?: number | undefined }): ReportedProblem {
  return { severity, path: formatPath(path), message, ...(line !== undefined && { line }) };
}

function settingNames(sources: readonly SliceSource[], owner: string): ReadonlySet<string> {
  const settings = sources.flatMap(({ file, text }) => {
    const { value } = readSource(file, text);
    const outline = isRecord(value) ? readOutline(value, () => {}) : undefined;
    return outline?.owner === owner && isRecord(outline.settings) ? Object.keys(outline.settings) : [];
  });
  return new Set(settings);
}

function explainIn(
  config: CheckedConfig,
  { route: choice, question, known, scope }: Extract<Task, { readonly kind: "explain-draft" }>,
): TaskAnswer {
  const key = keyOf(config, choice);
  const found = config.routes.find((route) => route.key === key);
  if (!found || (scope !== undefined && !scope.includes(ownerOfRoute(found.key))))
    return none("with the draft no route matches this address");
  const route = explainedRoute(found);
  const read = readQuestion(question, route, { known });
  if (!read.ok) return none(read.problem);
  const mtls = config.boot.downstream_mtls;
  const explained = explainRequest(route, read.facts, {
    mcpEnabled: config.settings.runtime_flags?.mcp === true,
    demandsCertificate: mtls !== undefined && (mtls.enforcement ?? "") !== "policy",
  });
  return { kind: "explained", route: route.key, question: questionText(question, route.key), explained };
}

function keyOf(config: CheckedConfig, choice: RouteChoice): string | undefined {
  if ("key" in choice) return choice.key;
  return tablesOf({ routes: config.routes, mcpEnabled: true }).find(choice.host, choice.path)?.key;
}

function readPolicy(sources: readonly SliceSource[], key: string): TaskAnswer {
  for (const source of sources) {
    const owner = ownerOf(source);
    const slice = owner !== undefined && key.startsWith(`${owner}/`) ? readSlice(source, []) : undefined;
    const route = slice?.routes.find(({ name }) => `${owner}/${name}` === key);
    if (!route || owner === undefined) continue;
    return { kind: "policy", owner, yaml: yamlText(route.valid.policy ?? []) };
  }
  return none(`there is no route "${key}" in the files and slices`);
}

function none(why: string): TaskAnswer {
  return { kind: "none", why };
}

const NOT_READABLE = none("the current configuration cannot be read");
