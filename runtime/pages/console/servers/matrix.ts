/** The matrix of tools and the users that rules distinguish. Each cell links to the rule that decides. */
import { html, type Html } from "../../html.ts";
import { badge, emptyState, filterForm, pager, type PagerParts } from "../pieces.ts";

export interface MatrixCell {
  readonly outcome: "allowed" | "approval" | "denied" | "unmatched";
  /** It depends on arguments or on the connection. */
  readonly isPartial: boolean;
  /** Number of the deciding rule, from 1; undefined: no rule matches. */
  readonly rule: number | undefined;
}

export interface MatrixView {
  readonly path: string;
  readonly search: string;
  readonly columns: readonly string[];
  readonly rows: readonly {
    readonly tool: string;
    /** Compared with the lock. */
    readonly state: "changed" | "unlocked" | undefined;
    readonly cells: readonly MatrixCell[];
  }[];
  readonly count: { readonly all: number; readonly found: number };
  /** Columns that are not shown. */
  readonly omitted: number;
  readonly pages: PagerParts;
}

/** @param number of a rule on the same page */
export function ruleAnchor(number: number): string {
  return `rule-${number}`;
}

const LOOKS: Readonly<Record<MatrixCell["outcome"], readonly [tone: string, text: string]>> = {
  allowed: ["y", "Allowed"],
  approval: ["a", "Approval"],
  denied: ["x", "Denied"],
  unmatched: ["n", "–"],
};

export function matrixPart(view: MatrixView): Html {
  const { path, search, columns, rows, count, omitted, pages } = view;
  const isPartial = rows.some(({ cells }) => cells.some((cell) => cell.isPartial));
  return html`<h2 id="tools-title">Access by tool</h2>
    ${count.all > 0 && filterForm(path, [{ name: "tool", label: "Name of a tool", value: search, type: "search" }])}
    ${
      rows.length === 0
        ? count.all === 0
          ? emptyState(
              "No known tools",
              "Tools appear here once a client lists them through this process, or a lock names them.",
            )
          : emptyState("No matching tools", "Change the search.")
        : html`<div class="scroll" role="region" aria-labelledby="matrix-caption" tabindex="0">
            <table class="matrix" id="matrix">
              <caption id="matrix-caption">
                ${captionOf(rows.length, count)}
              </caption>
              <thead>
                <tr>
                  <th scope="col">Tool</th>
                  ${columns.map((name) => html`<th scope="col" class="cell">${name}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${rows.map(
                  ({ tool, state, cells }) =>
                    html`<tr>
                      <th scope="row"><code>${tool}</code>${stateBadge(state)}</th>
                      ${cells.map(cell)}
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
    ${isPartial && html`<p class="dim">* Depends on the arguments of the call, or on the connection.</p>`}
    ${omitted > 0 && html`<p class="dim">${omitted} more groups and users are named in the rules.</p>`} ${pager(pages)}`;
}

function captionOf(shown: number, { all, found }: MatrixView["count"]): string {
  const which = found === all ? `${all} tool${all === 1 ? "" : "s"}` : `${found} of ${all} tools`;
  const part = shown < found ? `, ${shown} on this page` : "";
  return `${which}${part}. Each cell opens the rule that decides; “–” means that no rule allows it`;
}

function stateBadge(state: MatrixView["rows"][number]["state"]): Html | undefined {
  if (state === undefined) return undefined;
  return html` ${state === "changed" ? badge("bad", "Changed") : badge("warn", "Not locked")}`;
}

/** Short, since a page may have a thousand. */
function cell({ outcome, isPartial, rule }: MatrixCell): Html {
  const [tone, text] = LOOKS[outcome];
  const shown = `${text}${isPartial ? "*" : ""}`;
  const inside = rule === undefined ? shown : html`<a href="#${ruleAnchor(rule)}">${shown}</a>`;
  return html`<td class="cell ${tone}">${inside}</td>`;
}

export const MATRIX_STYLE = `
.matrix th, .matrix td { height: 2.2rem; }
.matrix tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--surface); } .matrix thead tr > :first-child { z-index: 2; background: var(--sunk); }
.matrix .cell { min-width: 6rem; border-left: 1px solid var(--line); text-align: center; white-space: normal; font-size: var(--t-xs); font-weight: 600; }
.matrix .cell a { display: flex; align-items: center; justify-content: center; gap: .25rem; min-height: 1.5rem; color: inherit; text-decoration: none; } .matrix .cell a:hover { text-decoration: underline; }
.cell.y { color: var(--good); } .cell.x { color: var(--bad); } .cell.a { color: var(--warn); } .cell.n { color: var(--text-3); }
.cell.y a::before { content: "✓" / ""; } .cell.x a::before { content: "✕" / ""; } .cell.a a::before { content: "◷" / ""; }
.rule-list { margin: 0; padding: 0; list-style: none; counter-reset: rule; }
.rule-list > li { margin: 0 0 var(--s2); padding: .45rem var(--s3); border: 1px solid var(--line); border-radius: var(--r1); font-size: var(--t-s); scroll-margin-top: 4.5rem; }
.rule-list > li:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); background: var(--accent-soft); }
.rule-list ul { margin: .2rem 0 0; padding-left: 1.2rem; }
.named { display: flex; align-items: center; gap: .6rem; min-width: 0; } .named > :last-child { min-width: 0; } .named small { display: block; min-width: min(9.5rem, 50vw); font-weight: 400; overflow-wrap: anywhere; }
.kpi h2 { margin: 0; color: var(--text-2); font-size: var(--t-s); font-weight: 500; } .kpi { position: relative; } .kpi .spark { position: absolute; right: var(--s4); bottom: var(--s4); width: 40%; height: 2rem; }
.named a { font-weight: 550; color: inherit; text-decoration: none; } .named a:hover { text-decoration: underline; }
.amount { display: block; margin: .1rem 0; font-size: var(--t-xl); font-weight: 650; line-height: 1.2; } .amount + p { margin: 0; }
.crumb { margin: 0 0 var(--s3); font-size: var(--t-s); }
`;
