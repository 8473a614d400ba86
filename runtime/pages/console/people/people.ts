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
  return html`${filterForm(path, [{ name: "q", label: "E-mail address, id or name", value: search, type: "search" }])}
  ${table({
    id: "people",
    caption: search === "" ? "People who have signed in, by their ids" : "People whom this fits, by their ids",
    columns: [
      { name: "Person", isHead: true },
      { name: "Signs in at", kind: "short" },
      { name: "Groups, as last seen", kind: "wide" },
      { name: "Browsers", kind: "number" },
      { name: "Last confirmed", kind: "short" },
    ],
    rows: rows.map(({ href, who, id, name, provider, groups, isBlocked, isRefused, sessions, confirmedMs }) => [
      html`<a href="${href}">${who}</a
        >${isBlocked && html` ${badge("bad", "blocked")}`}${isRefused && html` ${badge("warn", "refused by the provider")}`}${(name !== "" || id !== who) && html`<br /><span class="dim">${[name, id === who ? "" : id].filter((text) => text !== "").join(" · ")}</span>`}`,
      provider,
      groups,
      sessions ?? "",
      consoleTime(confirmedMs, "minute"),
    ]),
    empty:
      search === ""
        ? emptyState("Nobody is known yet", "People appear here once they have signed in.")
        : emptyState(
            "Nobody was found",
            "People are known here from their first sign-in until some time after their last one. Search by a whole e-mail address finds them at once.",
          ),
  })}
  ${pager(pages)}`;
}
