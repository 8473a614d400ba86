/** The list of decisions: views, filters, the chart, rows, and one decision in the panel next to them. */
import type { Html } from "../../pages/html.ts";
import { html } from "../../pages/html.ts";
import type { Chip } from "../../pages/console/lists/chips.ts";
import { decisionsPage, type DecisionList, type DecisionsParts } from "../../pages/console/decisions.ts";
import type { PanelParts } from "../../pages/console/lists/panel.ts";
import { consoleTime, sourceFailed, type Tab } from "../../pages/console/pieces.ts";
import type { RecordPage, RecordQuery } from "../../record-store/record-reader.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { scriptPath } from "../assets.ts";
import type { SavedView } from "../../administration/saved-views.ts";
import type { ConsoleRequest, ScreenPage } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { findDecision } from "./decision.ts";
import type { DecisionDeps } from "./deps.ts";
import {
  type DecisionFilters,
  filterEntries,
  filterQuery,
  NOT_ALLOWED_OR_FAILED,
  OUTCOME_NAMES,
  parseTime,
  PRESETS,
  readFilters,
  TEXT_FILTERS,
  toQuery,
} from "./filters.ts";
import { FORMATS } from "./download.ts";
import { histogram } from "./histogram.ts";
import { viewForm, viewsOfUser } from "./saved-views.ts";
import { DECISIONS_PATH, rowOf } from "./show-record.ts";

type Question = Omit<RecordQuery, "limit" | "order">;

const PAGE = 50;
export const STREAM = "stream";
const EMPTY: RecordPage = { records: [], isPartial: false };

interface Found {
  readonly page: RecordPage;
  readonly note?: Html;
}

/** @param usual status if the filters are valid */
export async function list(deps: DecisionDeps, visit: ConsoleRequest, usual: number): Promise<ScreenPage | undefined> {
  const filters = readFilters(visit.query);
  const asked = toQuery(filters, visit.rights, visit.now);
  const cursor = visit.query.get("cursor");
  const open = visit.query.get("open");
  const question = "query" in asked ? asked.query : undefined;
  const groups = groupsOf(filters);
  const [found, chart, panel, saved] = await Promise.all([
    Promise.all(groups.map((group) => find(deps, question && group.narrow(question), cursor))),
    question && chartOf(deps, visit, filters, question),
    open === undefined ? undefined : panelOf(deps, visit, filters, open),
    viewsOfUser(deps.store, visit),
  ]);
  if (panel === "none") return undefined;
  const problem = "problem" in asked ? html`<p class="failed" role="alert">${asked.problem}</p>` : undefined;
  const note = problem ?? found.find((each) => each.note)?.note;
  const lists: readonly DecisionList[] = groups.map(({ group, caption, more }, index) => {
    const { page } = found[index] ?? { page: EMPTY };
    const next = page.next === undefined ? undefined : `${DECISIONS_PATH}${more(page.next)}`;
    const rows = page.records.map((record) => rowOf(record, { filters, policies: deps.policies }));
    return { group, caption, rows, isPartial: page.isPartial, next };
  });
  const newest = found.flatMap(({ page }) => page.records).toSorted((left, right) => right.timeMs - left.timeMs)[0]?.id;
  const isOpenEnded = cursor === undefined && filters.until === "" && note === undefined;
  const stream =
    deps.reader && isOpenEnded
      ? `${DECISIONS_PATH}/${STREAM}${filterQuery(filters, newest === undefined ? {} : { after: newest })}`
      : undefined;
  const body = decisionsPage({
    views: viewsOf(filters, saved),
    save: deps.store && viewForm(visit, filters, saved),
    chips: chipsOf(
      filters,
      found.flatMap(({ page }) => page.records).find((each) => each.userId === filters.user)?.email,
    ),
    add: addOf(filters),
    time: timeOf(filters),
    chart,
    lists,
    first: cursor === undefined ? undefined : DECISIONS_PATH + filterQuery(filters),
    downloads: deps.reader
      ? FORMATS.map((format) => ({
          href: `${DECISIONS_PATH}/decisions.${format}${filterQuery(filters, { view: "" })}`,
          text: `Download ${format.toUpperCase()}`,
        }))
      : [],
    note,
    stream: stream === undefined ? undefined : { path: stream, worker: scriptPath("live-worker") },
    isKept: deps.reader !== undefined,
    panel,
    openId: open,
  });
  return {
    title: "Decisions",
    body,
    status: problem === undefined ? usual : 400,
    scripts: ["chart", "panel", ...(stream === undefined ? [] : ["live"])],
    ...(stream !== undefined && { stream: `${DECISIONS_PATH}/${STREAM}` }),
  };
}

async function panelOf(
  deps: DecisionDeps,
  visit: ConsoleRequest,
  filters: DecisionFilters,
  id: string,
): Promise<PanelParts | "none"> {
  const found = deps.reader ? await findDecision(deps, deps.reader, visit, id) : undefined;
  if (found === undefined) return "none";
  const closeHref = `${DECISIONS_PATH}${filterQuery(filters)}#d-${encodeURIComponent(id)}`;
  if (found === "unavailable") return { title: "Decision", closeHref, body: sourceFailed("The record store") };
  return { title: "Decision", closeHref, pageHref: `${DECISIONS_PATH}/${id}`, body: found.body };
}

function chartOf(deps: DecisionDeps, visit: ConsoleRequest, filters: DecisionFilters, query: Question) {
  const { reader, log } = deps;
  if (!reader) return undefined;
  const hrefOf = (sinceMs: number, untilMs: number): string => {
    const [since = "", until = ""] = [sinceMs, untilMs].map((ms) => new Date(ms).toISOString().replace(".000Z", "Z"));
    return DECISIONS_PATH + filterQuery(filters, { last: "", since, until });
  };
  return histogram({ reader, log }, { query, now: visit.now, hrefOf });
}

const VIEWS: readonly (readonly [outcome: string, name: string])[] = [
  ["", "All"],
  ["not-allowed", "Not allowed"],
  ["waiting", "Pending approval"],
  ["error", "Failed"],
  ["sign-in", "Sign-in"],
];

function viewsOf(filters: DecisionFilters, saved: readonly SavedView[]): readonly Tab[] {
  const rest = filterQuery(filters, { outcome: "", view: "" });
  const tab = (name: string, query: string, isCurrent: boolean): Tab => ({
    href: DECISIONS_PATH + query,
    name,
    isCurrent: isCurrent && rest === "",
  });
  return [
    ...VIEWS.map(([outcome, name]) =>
      tab(name, outcome === "" ? "" : `?outcome=${outcome}`, filters.outcome === outcome && !filters.isDeniedFirst),
    ),
    tab("Denied first", "?view=denied-first", filters.isDeniedFirst && filters.outcome === ""),
    ...saved.map(({ name, query }) => ({
      href: DECISIONS_PATH + query,
      name: showUntrusted(name, 40),
      isCurrent: filterQuery(filters) === query,
    })),
  ];
}

const FIELD_NAMES: Readonly<Record<(typeof TEXT_FILTERS)[number], string>> = {
  user: "User",
  route: "Route",
  tool: "Tool",
  client: "Client",
  request: "Request ID",
};

/** @param email of the user whose ID is the filter */
function chipsOf(filters: DecisionFilters, email: string | undefined): readonly Chip[] {
  const { outcome, last, since, until } = filters;
  const chip = (label: string, value: Chip["value"], ...names: readonly string[]): Chip => ({
    label,
    value,
    removeHref: DECISIONS_PATH + filterQuery(filters, Object.fromEntries(names.map((name) => [name, ""]))),
  });
  const time = (text: string): Chip["value"] => {
    const timeMs = parseTime(text) ?? Number.NaN;
    return Number.isNaN(timeMs) ? showUntrusted(text) : consoleTime(timeMs);
  };
  const preset = PRESETS[last];
  return [
    ...(preset ? [chip("Last", preset.text, "last")] : []),
    ...(since === "" || preset ? [] : [chip("From", time(since), "since")]),
    ...(until === "" || preset ? [] : [chip("To", time(until), "until")]),
    ...(outcome === ""
      ? []
      : [chip("Outcome", OUTCOME_NAMES[outcome as "denied"] ?? showUntrusted(outcome), "outcome")]),
    ...TEXT_FILTERS.flatMap((name) =>
      filters[name] === ""
        ? []
        : [chip(FIELD_NAMES[name], showUntrusted((name === "user" && email) || filters[name]), name)],
    ),
  ];
}

function addOf(filters: DecisionFilters): DecisionsParts["add"] {
  return {
    action: DECISIONS_PATH,
    kept: filterEntries(filters),
    fields: [...Object.entries(FIELD_NAMES), ["outcome", "Outcome"]],
    suggestions: Object.values(OUTCOME_NAMES),
  };
}

function timeOf(filters: DecisionFilters): DecisionsParts["time"] {
  const input = (text: string): string => {
    const timeMs = parseTime(text);
    return timeMs === undefined || Number.isNaN(timeMs) ? "" : new Date(timeMs).toISOString().slice(0, 16);
  };
  return {
    action: DECISIONS_PATH,
    kept: filterEntries(filters, { last: "", since: "", until: "" }),
    presets: Object.entries(PRESETS).map(([last, { text }]) => ({
      text,
      href: DECISIONS_PATH + filterQuery(filters, { last, since: "", until: "" }),
      isCurrent: filters.last === last,
    })),
    since: input(filters.since),
    until: input(filters.until),
  };
}

interface Group {
  readonly group: DecisionList["group"];
  readonly caption: string;
  readonly narrow: (question: Question) => Question | undefined;
  /** Query of the next page. */
  readonly more: (cursor: string) => string;
}

/** One list as a rule; with "denied first" two, each from its start. */
function groupsOf(filters: DecisionFilters): readonly Group[] {
  if (!filters.isDeniedFirst) {
    const more = (cursor: string): string => filterQuery(filters, { cursor });
    return [{ group: "all", caption: "Newest first", narrow: (question) => question, more }];
  }
  const of = (outcome: "others" | "allowed", group: Group["group"], caption: string): Group => ({
    group,
    caption,
    narrow(question) {
      const outcomes = (outcome === "allowed" ? (["allowed"] as const) : NOT_ALLOWED_OR_FAILED).filter(
        (each) => question.outcomes?.includes(each) ?? true,
      );
      return outcomes.length === 0 ? undefined : { ...question, outcomes };
    },
    more: () => filterQuery(filters, { view: "", outcome: filters.outcome === "" ? outcome : filters.outcome }),
  });
  return [
    of("others", "denied", "Not allowed or failed, newest first"),
    of("allowed", "allowed", "Allowed, newest first"),
  ];
}

/** @param question undefined: the filters are not valid, or exclude each other */
async function find(deps: DecisionDeps, question: Question | undefined, cursor: string | undefined): Promise<Found> {
  const { reader, log } = deps;
  if (!reader || !question) return { page: EMPTY };
  const query = { ...question, order: "newest", limit: PAGE } as const;
  try {
    return { page: await reader.find({ ...query, ...(cursor !== undefined && { cursor }) }) };
  } catch (error) {
    if (error instanceof GatewayError && error.code === "records.cursor")
      return {
        page: EMPTY,
        note: html`<p class="failed" role="alert">The link does not match the filters. Open the first page.</p>`,
      };
    log.warn({ reason: errorText(error) }, "console cannot query record store");
    return { page: EMPTY, note: sourceFailed("The record store") };
  }
}
