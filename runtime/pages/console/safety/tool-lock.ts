/** Tools, and what else of a server is locked, as they were reviewed, and what servers list instead. All texts come visible and bounded. */
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
        { name: "New", kind: "number" },
        { name: "State" },
        { name: "On drift", kind: "short" },
      ],
      rows: rows.map((row) => [
        html`<a href="${row.href}"><bdi>${row.route}</bdi></a>`,
        html`<bdi class="address">${row.address}</bdi>`,
        row.locked,
        row.changed,
        row.added,
        row.changed + row.added > 0 ? badge("bad", "differs") : badge("good", "matches"),
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

export interface LockRouteParts {
  readonly address: string;
  readonly onDrift: string;
  readonly rows: readonly LockedToolRow[];
  readonly isCut: boolean;
  /** As `gateway tools diff` prints it; "": nothing is known to differ. */
  readonly difference: string;
  /** False: the lock has digests, and nobody can show what was reviewed. */
  readonly hasReviewed: boolean;
  readonly isWhole: boolean;
  readonly unknown: readonly string[];
  readonly command: string;
  readonly exportHref: string | undefined;
  readonly back: string;
}

const STATES = {
  changed: badge("bad", "changed"),
  new: badge("warn", "new"),
  missing: badge("quiet", "not listed yet"),
  locked: badge("good", "as locked"),
} as const;

export function lockRouteBody(parts: LockRouteParts): Html {
  return html`${definitions([
      ["Address", html`<bdi class="address">${parts.address}</bdi>`],
      ["On drift", parts.onDrift],
    ])}
    ${
      parts.difference !== "" &&
      html`<h2>What differs</h2>
        ${
          !parts.hasReviewed &&
          html`<p class="dim">The lock stores digests only. The reviewed definitions cannot be shown.</p>`
        }
        <pre><bdi>${parts.difference}</bdi></pre>`
    }
    ${
      !parts.isWhole &&
      html`<p>
        How these differ other processes know, or nobody could keep it:
        ${parts.unknown.map((tool, index) => html`${index > 0 && ", "}<code><bdi>${tool}</bdi></code>`)}. To see it:
        <code>${parts.command}</code>
      </p>`
    }
    ${
      parts.exportHref !== undefined &&
      html`<p>
        <a class="button" href="${parts.exportHref}">Lock as it would be</a>
        <span class="dim">For a pull request: nothing is applied. Read what differs first.</span>
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
