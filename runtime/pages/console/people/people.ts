/** The console's list of people, and machines that act in a person's place. */
import { html, type Html } from "../../html.ts";
import { badge, consoleTime, emptyState, filterForm, pager, table, type PagerParts } from "../pieces.ts";

export interface PersonRow {
  readonly href: string;
  /** E-mail address, or the id where there is none. */
  readonly who: string;
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly groups: string;
  readonly isBlocked: boolean;
  /** The provider no longer vouches for them. */
  readonly isRefused: boolean;
  /** "3", "20 or more"; undefined: not known. */
  readonly sessions: string | undefined;
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
    caption: search === "" ? "Users, by ID" : "Matching users, by ID",
    columns: [
      { name: "Person", isHead: true },
      { name: "Identity provider", kind: "short" },
      { name: "Groups", kind: "wide" },
      { name: "Browsers", kind: "number" },
      { name: "Last refreshed", kind: "short" },
    ],
    rows: rows.map(({ href, who, id, name, provider, groups, isBlocked, isRefused, sessions, confirmedMs }) => [
      html`<a href="${href}">${who}</a
        >${isBlocked && html` ${badge("bad", "blocked")}`}${isRefused && html` ${badge("warn", "rejected by provider")}`}${(name !== "" || id !== who) && html`<br /><span class="dim">${[name, id === who ? "" : id].filter((text) => text !== "").join(" · ")}</span>`}`,
      provider,
      groups,
      sessions ?? "",
      consoleTime(confirmedMs, "minute"),
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
