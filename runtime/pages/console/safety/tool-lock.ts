/** Tools and other locked items: as reviewed, and as servers list them now. All texts are visible and bounded. */
import { html, type Html } from "../../html.ts";
import { badge, definitions, emptyState, pager, table } from "../pieces.ts";

export interface LockListRow {
  readonly href: string;
  readonly route: string;
  readonly address: string;
  readonly locked: number;
  readonly changed: number;
  readonly added: number;
  readonly onDrift: string;
}

const SEEN_HERE = "Based on tool lists seen by all processes.";

export function lockListBody({
  rows,
  isCut,
}: {
  readonly rows: readonly LockListRow[];
  readonly isCut: boolean;
}): Html {
  return html`${table({
      id: "locks",
      caption: "MCP servers with a tool lock",
      columns: [
        { name: "Route", isHead: true },
        { name: "Address" },
        { name: "Locked", kind: "number" },
        { name: "Changed", kind: "number" },
        { name: "Not in the lock", kind: "number" },
        { name: "State" },
        { name: "On drift", kind: "short" },
      ],
      rows: rows.map((row) => [
        html`<a href="${row.href}"><bdi>${row.route}</bdi></a>`,
        html`<bdi class="address">${row.address}</bdi>`,
        row.locked,
        row.changed,
        row.added,
        row.changed + row.added > 0 ? badge("bad", "Changed") : badge("good", "Unchanged"),
        row.onDrift,
      ]),
      empty: emptyState("No tool locks", "Set mcp.server.tool_lock on a route to lock its tools."),
    })}
    ${isCut && pager({ note: "There are more locked routes." })}
    <p class="dim">${SEEN_HERE}</p>`;
}

export interface LockedToolRow {
  readonly tool: string;
  /** missing: the tool has not been listed yet. */
  readonly state: "locked" | "changed" | "new" | "missing";
}

export interface ItemChange {
  readonly item: string;
  /** digest: changed, and the lock has only the digest of the reviewed definition. */
  readonly state: "changed" | "digest" | "new";
  /** Consequences that are not obvious. */
  readonly notes: readonly string[];
  readonly values: readonly { readonly place: string; readonly pieces: readonly DifferencePiece[] }[];
}

interface DifferencePiece {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

export interface LockRouteParts {
  readonly address: string;
  readonly onDrift: string;
  readonly rows: readonly LockedToolRow[];
  readonly isCut: boolean;
  /** Changed items first; [] if no difference is known here. */
  readonly changes: readonly ItemChange[];
  /** Differences are omitted from `changes`. */
  readonly isLong: boolean;
  readonly isWhole: boolean;
  readonly unknown: readonly string[];
  readonly command: string;
  readonly exportHref: string | undefined;
  readonly back: string;
}

const STATES = {
  changed: badge("bad", "Changed"),
  new: badge("warn", "Not in the lock"),
  missing: badge("quiet", "Not listed yet"),
  locked: badge("good", "Locked"),
} as const;

export function lockRouteBody(parts: LockRouteParts): Html {
  return html`${definitions([
      ["Address", html`<bdi class="address">${parts.address}</bdi>`],
      ["On drift", parts.onDrift],
    ])}
    ${
      parts.changes.length > 0 &&
      html`<h2>Differences</h2>
        ${parts.changes.map(changeCard)}
        ${parts.isLong && html`<p class="dim">More differences: <code>${parts.command}</code></p>`}`
    }
    ${
      !parts.isWhole &&
      html`<p>
        Differences not available here:
        ${parts.unknown.map((tool, index) => html`${index > 0 && ", "}<code><bdi>${tool}</bdi></code>`)}. Run:
        <code>${parts.command}</code>
      </p>`
    }
    ${
      parts.exportHref !== undefined &&
      html`<p>
        <a class="button" href="${parts.exportHref}">Export updated lock</a>
        <span class="dim">For a pull request. Nothing is applied. Review the differences first.</span>
      </p>`
    }
    ${table({
      id: "tools",
      caption: "Locked items, changed first",
      columns: [{ name: "Item", isHead: true }, { name: "State" }],
      rows: parts.rows.map(({ tool, state }) => [html`<code><bdi>${tool}</bdi></code>`, STATES[state]]),
      empty: emptyState("No items", "Items appear here once the server lists them."),
    })}
    ${parts.isCut && pager({ note: "There are more items." })}
    <p class="dim">${SEEN_HERE}</p>
    <p><a class="button" href="${parts.back}">Back</a></p>`;
}

const CHANGE_STATES = { changed: STATES.changed, digest: STATES.changed, new: STATES.new } as const;

function changeCard({ item, state, notes, values }: ItemChange): Html {
  return html`<section class="card item-change">
    <h3>
      <code><bdi>${item}</bdi></code> ${CHANGE_STATES[state]}
    </h3>
    ${state === "digest" && html`<p class="dim">The lock has only the digest of the reviewed definition. This is the current one.</p>`}
    ${
      notes.length > 0 &&
      html`<ul class="notes">
        ${notes.map((note) => html`<li>${note}</li>`)}
      </ul>`
    }
    <dl>
      ${values.map(
        ({ place, pieces }) =>
          html`<dt><bdi>${place}</bdi></dt>
            <dd class="words">${pieces.map(pieceOf)}</dd>`,
      )}
    </dl>
  </section>`;
}

function pieceOf({ kind, text }: DifferencePiece): Html {
  if (kind === "removed") return html`<del>${text}</del>`;
  return kind === "added" ? html`<ins>${text}</ins>` : html`${text}`;
}
