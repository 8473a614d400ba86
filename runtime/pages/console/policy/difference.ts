/** Who gains or loses what between two bundles, and which settings differ. */
import { html, type Html } from "../../html.ts";
import { emptyState, table } from "../pieces.ts";

export interface DifferenceView {
  readonly statements: readonly {
    readonly place: string;
    readonly kind: "gains" | "loses";
    readonly text: string;
    /** Where its example is tried. */
    readonly tryHref?: string | undefined;
  }[];
  readonly leftOut: number;
  readonly settings: readonly {
    readonly where: string;
    readonly name: string;
    readonly change: string;
    readonly before: string;
    readonly after: string;
  }[];
  readonly gaps: readonly string[];
}

export function differenceBody({ statements, leftOut, settings, gaps }: DifferenceView): Html {
  const [gains, losses] = (["gains", "loses"] as const).map((kind) => statements.filter((each) => each.kind === kind));
  return html`<h2>Access changes</h2>
    ${
      statements.length === 0
        ? emptyState("No access changes found", "Users that were not compared are listed below.")
        : html`${statementTable("gains", "Gained access, broadest first", gains ?? [])}
          ${statementTable("losses", "Lost access, broadest first", losses ?? [])}`
    }
    ${leftOut > 0 && html`<p class="dim">${leftOut} more are not shown; <code>gateway diff</code> has all.</p>`}
    <h2>Settings</h2>
    ${table({
      id: "settings",
      caption: "Other changed settings; secret values are not shown",
      columns: [
        { name: "Route", isHead: true },
        { name: "Setting" },
        { name: "Change", kind: "short" },
        { name: "Before", kind: "wide" },
        { name: "After", kind: "wide" },
      ],
      rows: settings.map(({ where, name, change, before, after }) => [where, name, change, code(before), code(after)]),
      empty: emptyState("No other changes", "Changed settings appear here."),
    })}
    ${
      gaps.length > 0 &&
      html`<details>
        <summary>Not compared</summary>
        <ul>
          ${gaps.map((gap) => html`<li>${gap}</li>`)}
        </ul>
      </details>`
    }`;
}

function code(text: string): Html | string {
  return text === "" ? "" : html`<code>${text}</code>`;
}

function statementTable(id: string, caption: string, rows: DifferenceView["statements"]): Html | undefined {
  if (rows.length === 0) return undefined;
  return table({
    id,
    caption,
    columns: [
      { name: "Route", isHead: true },
      { name: "Change", kind: "wide" },
      { name: "Example", kind: "short" },
    ],
    rows: rows.map(({ place, text, tryHref }) => [
      place,
      text,
      tryHref === undefined ? "" : html`<a href="${tryHref}">Try<span class="hidden"> ${text}</span></a>`,
    ]),
    empty: html``,
  });
}
