/** Screen: who was allowed to do what and why, as a list that is live, one by one, and as a file. */
import { redirect } from "../../http/respond.ts";
import { parseQuery } from "../../shared/http/query.ts";
import type { ConsoleRequest, Screen } from "../screen.ts";
import { showDecision } from "./decision.ts";
import type { DecisionDeps } from "./deps.ts";
import { download, FORMATS } from "./download.ts";
import { filterQuery, readFilters, toQuery } from "./filters.ts";
import { list, STREAM } from "./list.ts";
import { viewActions } from "./saved-views.ts";
import { DECISIONS_PATH } from "./show-record.ts";
import type { TailWindow } from "./tails.ts";

export function decisionsScreen(deps: DecisionDeps): Screen {
  const { reader, tails } = deps;
  return {
    path: "decisions",
    group: "Monitor",
    icon: "decisions",
    name: "Decisions",
    actions: viewActions(deps.store),
    isForScripts: ([name, ...more]) => name === STREAM && more.length === 0,

    async show(visit) {
      const [id, ...more] = visit.path;
      // A file that is unavailable now, or has filters that are not valid.
      if (id === undefined || (more.length === 0 && fileOf(id))) return list(deps, visit, id === undefined ? 200 : 503);
      return more.length > 0 || !reader ? undefined : showDecision(deps, reader, visit, id);
    },

    async respond(visit) {
      const [name = "", ...more] = visit.path;
      const filters = readFilters(visit.query);
      if (visit.exchange.method !== "GET") return false;
      // The address of a form that adds a filter becomes the one that links have.
      if (name === "" && visit.query.has("add")) {
        redirect(visit.exchange, 303, DECISIONS_PATH + filterQuery(filters));
        return true;
      }
      if (!reader || !tails || more.length > 0) return false;
      if (name === STREAM) {
        const windows = windowsOf(visit);
        if (windows === undefined) return false;
        await tails.open(visit, windows);
        return true;
      }
      const format = fileOf(name);
      const asked = toQuery(filters, visit.rights, visit.now);
      if (!("query" in asked) || !format) return false;
      return download({ reader, clock: deps.clock, again: deps.again }, { visit, query: asked.query, format });
    },
  };
}

const MAX_WINDOWS = 8;

/** The windows of one stream, each with the query of its list. @returns undefined if one is not valid */
function windowsOf({ query, rights, now }: ConsoleRequest): readonly TailWindow[] | undefined {
  const given = query.get("windows");
  const queries = given === undefined ? [query] : parseWindows(given);
  if (queries.length === 0 || queries.length > MAX_WINDOWS) return undefined;
  const windows = queries.flatMap((each) => {
    const filters = readFilters(each);
    // New records are within any range that ends now. Without a start, windows with the same filters share a question.
    const asked = toQuery({ ...filters, last: "" }, rights, now);
    return "query" in asked ? [{ filters, query: asked.query, after: each.get("after") }] : [];
  });
  return windows.length === queries.length ? windows : undefined;
}

function parseWindows(text: string): readonly ReadonlyMap<string, string>[] {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(given)) return [];
  const read = given.map((each: unknown) => parseQuery(typeof each === "string" ? each : ""));
  return read.every((each) => each.ok) ? read.map(({ values }) => values) : [];
}

function fileOf(name: string): (typeof FORMATS)[number] | undefined {
  return FORMATS.find((each) => name === `decisions.${each}`);
}
