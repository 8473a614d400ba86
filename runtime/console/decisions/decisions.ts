/** Screen: who was let in or not, and why; all that a filter finds as a file; new ones as they come. */
import { decisionsPage, type DecisionList } from "../../pages/console/decisions.ts";
import { html, type Html } from "../../pages/html.ts";
import { type FilterField, sourceFailed } from "../../pages/console/pieces.ts";
import type { RecordPage, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { ConsoleRights, Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showDecision, type DecisionPageDeps } from "./decision.ts";
import { download, FORMATS } from "./download.ts";
import { type DecisionFilters, filterQuery, NOT_ALLOWED, readFilters, toQuery } from "./filters.ts";
import { DECISIONS_PATH, rowOf } from "./show-record.ts";
import type { Tails } from "./tails.ts";

export interface DecisionDeps extends DecisionPageDeps {
  /** Absent: no records are kept. */
  readonly reader: RecordReader | undefined;
  readonly tails: Tails | undefined;
  /** Undefined: the right has ended. */
  readonly again: (visit: ConsoleRequest) => Promise<ConsoleRights | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

type Question = Omit<RecordQuery, "limit" | "order">;

const PAGE = 50;
const STREAM = "stream";
const EMPTY: RecordPage = { records: [], isPartial: false };

export function decisionsScreen(deps: DecisionDeps): Screen {
  const { reader, tails } = deps;
  return {
    path: "decisions",
    group: "Monitor",
    icon: "decisions",
    name: "Decisions",
    isForScripts: ([name, ...more]) => name === STREAM && more.length === 0,

    async show(visit) {
      const [id, ...more] = visit.path;
      // A file that is not there now, or of filters that make no sense.
      if (id === undefined || (more.length === 0 && fileOf(id))) return list(deps, visit, id === undefined ? 200 : 503);
      return more.length > 0 || !reader ? undefined : showDecision(deps, reader, visit, id);
    },

    async respond(visit) {
      const [name = "", ...more] = visit.path;
      if (!reader || !tails || more.length > 0 || visit.exchange.method !== "GET") return false;
      const format = fileOf(name);
      const asked = toQuery(readFilters(visit.query), visit.rights);
      if (!("query" in asked)) return false;
      if (name === STREAM) await tails.open(visit, asked.query, visit.query.get("after"));
      else if (format)
        return download({ reader, clock: deps.clock, again: deps.again }, { visit, query: asked.query, format });
      else return false;
      return true;
    },
  };
}

interface Found {
  readonly page: RecordPage;
  readonly note?: Html;
}

function fileOf(name: string): (typeof FORMATS)[number] | undefined {
  return FORMATS.find((each) => name === `decisions.${each}`);
}

/** @param usual status where what is looked for makes sense */
async function list(deps: DecisionDeps, visit: ConsoleRequest, usual: number): Promise<ScreenPage> {
  const filters = readFilters(visit.query);
  const asked = toQuery(filters, visit.rights);
  const cursor = visit.query.get("cursor");
  const question = "query" in asked ? asked.query : undefined;
  const groups = groupsOf(filters);
  const found = await Promise.all(groups.map((group) => find(deps, question && group.narrow(question), cursor)));
  const problem = "problem" in asked ? html`<p class="failed" role="alert">${asked.problem}</p>` : undefined;
  const note = problem ?? found.find((each) => each.note)?.note;
  const lists: readonly DecisionList[] = groups.map(({ group, caption, more }, index) => {
    const { page } = found[index] ?? { page: EMPTY };
    const next = page.next === undefined ? undefined : `${DECISIONS_PATH}${more(page.next)}`;
    return { group, caption, rows: page.records.map(rowOf), isPartial: page.isPartial, next };
  });
  const newest = found.flatMap(({ page }) => page.records).toSorted((left, right) => right.timeMs - left.timeMs)[0]?.id;
  const isOpenEnded = cursor === undefined && filters.until === "" && note === undefined;
  const stream =
    deps.reader && isOpenEnded
      ? `${DECISIONS_PATH}/${STREAM}${filterQuery(filters, newest === undefined ? {} : { after: newest })}`
      : undefined;
  const body = decisionsPage({
    action: DECISIONS_PATH,
    filters: fieldsOf(filters),
    kept: filters.isDeniedFirst ? [["view", "denied-first"]] : [],
    lists,
    first: cursor === undefined ? undefined : DECISIONS_PATH + filterQuery(filters),
    view: filters.isDeniedFirst
      ? { href: DECISIONS_PATH + filterQuery(filters, { view: "" }), text: "Sort by time" }
      : { href: DECISIONS_PATH + filterQuery(filters, { view: "denied-first" }), text: "Group denied first" },
    downloads: deps.reader
      ? FORMATS.map((format) => ({
          href: `${DECISIONS_PATH}/decisions.${format}${filterQuery(filters, { view: "" })}`,
          text: `Download ${format.toUpperCase()}`,
        }))
      : [],
    note,
    stream,
    isKept: deps.reader !== undefined,
  });
  return {
    title: "Decisions",
    body,
    status: problem === undefined ? usual : 400,
    ...(stream !== undefined && { scripts: ["live"], stream: `${DECISIONS_PATH}/${STREAM}` }),
  };
}

interface Group {
  readonly group: DecisionList["group"];
  readonly caption: string;
  readonly narrow: (question: Question) => Question | undefined;
  /** Query of the page behind this one. */
  readonly more: (cursor: string) => string;
}

/** In the usual view one list; denied first: two of them, each from its beginning. */
function groupsOf(filters: DecisionFilters): readonly Group[] {
  if (!filters.isDeniedFirst) {
    const more = (cursor: string): string => filterQuery(filters, { cursor });
    return [{ group: "all", caption: "Newest first", narrow: (question) => question, more }];
  }
  const of = (outcome: "others" | "allowed", group: Group["group"], caption: string): Group => ({
    group,
    caption,
    narrow(question) {
      const outcomes = (outcome === "allowed" ? (["allowed"] as const) : NOT_ALLOWED).filter(
        (each) => question.outcomes?.includes(each) ?? true,
      );
      return outcomes.length === 0 ? undefined : { ...question, outcomes };
    },
    more: () => filterQuery(filters, { view: "", outcome: filters.outcome === "" ? outcome : filters.outcome }),
  });
  return [of("others", "denied", "Not allowed, newest first"), of("allowed", "allowed", "Allowed, newest first")];
}

/** @param question undefined: what is looked for makes no sense, or there can be none */
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

function fieldsOf({ user, route, tool, client, outcome, since, until }: DecisionFilters): readonly FilterField[] {
  return [
    { name: "outcome", label: "Outcome", value: outcome, options: OUTCOME_OPTIONS },
    { name: "user", label: "User (ID or email)", value: user },
    { name: "route", label: "Route", value: route },
    { name: "tool", label: "Tool", value: tool },
    { name: "client", label: "Client", value: client },
    { name: "since", label: "Since (UTC)", value: since, type: "datetime-local" },
    { name: "until", label: "Until (UTC)", value: until, type: "datetime-local" },
  ];
}

const OUTCOME_OPTIONS = [
  ["", "All"],
  ["others", "Not allowed"],
  ["denied", "Denied"],
  ["limited", "Rate limited"],
  ["waiting", "Pending approval"],
  ["error", "Error"],
  ["allowed", "Allowed"],
] as const;
