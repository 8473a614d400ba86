/** The page of a draft: problems, gained and lost access, and exports. */
import { documentationLine } from "../../config/surfaces/documentation.ts";
import type { Html } from "../../pages/html.ts";
import { draftBody, type DraftView } from "../../pages/console/policy/draft.ts";
import { EXPORT_FORMATS } from "../../simulation/export-draft.ts";
import type { StoredDraft } from "../../simulation/draft-records.ts";
import type { Task, ReportedProblem } from "../../simulation/protocol.ts";
import { differenceView } from "../changes/difference-view.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted, showUntrustedLines } from "../show-untrusted.ts";
import { addressOf } from "./read-fields.ts";
import { attempt, DRAFTS_PATH, mayNamePeople, SIMULATOR_PATH, type SimulatorDeps } from "./deps.ts";

/** The limit of `gateway diff --users`. */
const MAX_PEOPLE = 10_000;
const MAX_SHOWN_TEXT = 20_000;
const FORMAT_NAMES = { yaml: "Export as YAML", hcl: "Export as HCL", typescript: "Export as TypeScript" } as const;

export async function draftView(deps: SimulatorDeps, visit: ConsoleRequest, draft: StoredDraft): Promise<Html> {
  const { id, author, owner, route, text, at, expiresAt } = draft;
  const { principal, rights, snapshot } = visit;
  const about = { draft: id, scope: rights.owners, people: mayNamePeople(visit) };
  const told = await attempt(() =>
    deps.drafts.askAgain(about, snapshot.digest, async (): Promise<Task> => {
      const people = mayNamePeople(visit) ? await deps.people.list(MAX_PEOPLE, snapshot.settings) : [];
      return { kind: "compare-draft", draft, people, scope: rights.owners };
    }),
  );
  const isOwn = author === principal.user.id;
  const isTold = typeof told !== "string" && told.kind === "draft";
  return draftBody({
    kind: draft.kind,
    owner: showUntrusted(owner),
    route: route && showUntrusted(route),
    author: isOwn ? "you" : showUntrusted(author),
    atMs: at * 1000,
    untilMs: expiresAt * 1000,
    text: showUntrustedLines(text, MAX_SHOWN_TEXT),
    problems: [],
    changeHref: `${SIMULATOR_PATH}/draft?${new URLSearchParams({ from: id }).toString()}`,
    exports: EXPORT_FORMATS.map(
      (format) => [`${DRAFTS_PATH}/${id}/export?as=${format}`, FORMAT_NAMES[format]] as const,
    ),
    ...(isOwn && { remove: { action: DRAFTS_PATH, csrfToken: visit.csrf("remove-draft"), id } }),
    ...(isTold ? toldView(told.report, draft) : { failed: failureOf(told) }),
  });
}

function toldView(
  {
    isGood,
    problems,
    difference,
  }: Extract<Awaited<ReturnType<SimulatorDeps["drafts"]["ask"]>>, { kind: "draft" }>["report"],
  { id, route }: StoredDraft,
): Partial<DraftView> {
  return {
    isGood,
    problems: problems.map(({ severity, message, ...placed }) => ({
      severity,
      place: showUntrusted(placeOf(placed)),
      message: showUntrusted(message, 1_000),
    })),
    documentation: documentationLine(problems)[0],
    ...(difference && { difference: differenceView(difference, id) }),
    ...(isGood && { tryHref: addressOf(SIMULATOR_PATH, { route: route ?? "" }, id) }),
  };
}

function placeOf({ path, line }: Pick<ReportedProblem, "path" | "line">): string {
  return [path, ...(line === undefined ? [] : [`line ${line}`])].filter((part) => part !== "").join(", ");
}

function failureOf(told: Awaited<ReturnType<SimulatorDeps["drafts"]["ask"]>> | string): string {
  if (typeof told === "string") return showUntrusted(told, 500);
  return told.kind === "none" ? showUntrusted(told.why, 500) : "No result";
}

export function draftTitle({ owner, route }: Pick<StoredDraft, "owner" | "route">): string {
  return route === undefined
    ? `Draft of the slice of ${showUntrusted(owner)}`
    : `Draft of the policy of ${showUntrusted(route)}`;
}
