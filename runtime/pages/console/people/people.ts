/** The console's list of users, service accounts among them. */
import { html, type Html } from "../../html.ts";
import { monogram } from "../../monogram.ts";
import { badge, consoleTime, emptyState, filterForm, pager, table, type PagerParts } from "../pieces.ts";

export interface PersonRow {
  readonly href: string;
  /** Email address, or the ID where there is none. */
  readonly who: string;
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly groups: string;
  readonly isBlocked: boolean;
  /** The provider no longer accepts them. */
  readonly isRefused: boolean;
  /** "3", "20 or more"; undefined: unknown. */
  readonly sessions: string | undefined;
  readonly grants: string | undefined;
  /** Milliseconds since the epoch: last use of a browser, within 5 minutes. */
  readonly activeMs: number | undefined;
  /** Milliseconds since the epoch: when the provider last confirmed them. */
  readonly confirmedMs: number;
}

export interface PeopleView {
  readonly path: string;
  readonly rows: readonly PersonRow[];
  readonly search: string;
  readonly pages: PagerParts;
}

export function peopleBody({ path, rows, search, pages }: PeopleView): Html {
  return html`${filterForm(path, [{ name: "q", label: "Email, ID or name", value: search, type: "search" }])}
  ${table({
    id: "people",
    caption: search === "" ? "Users, sorted by ID" : "Matching users, sorted by ID",
    columns: [
      { name: "Name", isHead: true, kind: "wide" },
      { name: "State", kind: "short" },
      { name: "Identity provider", kind: "short", isExtra: true },
      { name: "Groups", kind: "wide" },
      { name: "Last active", kind: "short" },
      { name: "Browsers", kind: "number" },
      { name: "Applications", kind: "number" },
      { name: "Last refreshed", kind: "short", isExtra: true },
    ],
    rows: rows.map((row) => [
      nameCell(row),
      row.isBlocked
        ? badge("bad", "Blocked")
        : row.isRefused
          ? badge("warn", "Rejected by provider")
          : badge("good", "Active"),
      row.provider,
      row.groups,
      row.activeMs !== undefined && consoleTime(row.activeMs, "minute"),
      row.sessions ?? "",
      row.grants ?? "",
      consoleTime(row.confirmedMs, "minute"),
    ]),
    empty:
      search === ""
        ? emptyState("No users yet", "Users appear here once they sign in.")
        : emptyState(
            "No matching users",
            "Users appear here from their first sign-in. Search by the whole email for an exact match.",
          ),
  })}
  ${pager(pages)}`;
}

function nameCell({ href, who, id, name }: PersonRow): Html {
  const more = [name === "" ? "" : who, id === who ? "" : id].filter((text) => text !== "");
  return html`<span class="named"
    >${monogram(name === "" ? who : name, "round")}<span
      ><a href="${href}">${name === "" ? who : name}</a
      >${more.length > 0 && html`<small class="dim">${more.join(" · ")}</small>`}</span
    ></span
  >`;
}
