/** Results of the search box, in groups. */
import { html, type Html } from "../html.ts";
import { emptyState, sourceFailed } from "./pieces.ts";

export interface FoundRow {
  readonly href: string;
  readonly name: string;
  readonly text: string;
  readonly isCode?: boolean;
}

export interface FoundGroup {
  readonly name: string;
  /** The list with the same search; undefined: there is none. */
  readonly href: string | undefined;
  /** "failed": its source is unavailable or late. */
  readonly rows: readonly FoundRow[] | "failed";
}

export function searchBody({
  asked,
  groups,
}: {
  readonly asked: string;
  readonly groups: readonly FoundGroup[];
}): Html {
  if (groups.length === 0) {
    return asked === ""
      ? emptyState("Search", "Enter an email address, a name, a server, a tool, or the request ID of an error page.")
      : emptyState(
          `No matches for “${asked}”`,
          "Search by part of a name, or by a whole email address, tool, client or request ID. Tools appear once a lock names them or a client calls them. Denials of the console itself have no decision: find their request IDs in the log.",
        );
  }
  return html`<div class="grid">
    ${groups.map(
      ({ name, href, rows }) =>
        html`<section class="card c6">
          <header>
            <h2>${name}</h2>
            ${href !== undefined && html`<a href="${href}">All matches<span class="hidden"> in ${name}</span></a>`}
          </header>
          ${
            rows === "failed"
              ? sourceFailed("The store")
              : html`<ul class="rows">
                  ${rows.map(
                    (row) =>
                      html`<li>
                        <div class="grow">
                          <h3>
                            <a class="plain" href="${row.href}"
                              >${row.isCode === true ? html`<code>${row.name}</code>` : row.name}</a
                            >
                          </h3>
                          <p>${row.text}</p>
                        </div>
                      </li>`,
                  )}
                </ul>`
          }
        </section>`,
    )}
  </div>`;
}
