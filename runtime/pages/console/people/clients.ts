/** The console's lists of callers other than users: OAuth clients, service accounts, publish tokens, devices. */
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import { actionLink, type ActionLink } from "../objects.ts";
import type { Listed } from "./person.ts";
import { card, consoleTime, definitions, emptyState, pager, type PagerParts, type Tab, tabs } from "../pieces.ts";

export interface ClientGrantRow {
  readonly id: string;
  readonly who: string;
  readonly href: string;
  readonly server: string;
  readonly scope: string;
  readonly beganMs: number;
  readonly endsMs: number;
}

export interface ClientView {
  /** Address of the list. */
  readonly list: string;
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly end: ActionLink | undefined;
  readonly grants: Listed<ClientGrantRow>;
  readonly pages: PagerParts;
}

export function clientBody({ list, facts, end, grants, pages }: ClientView): Html {
  return html`<p class="crumb"><a href="${list}">Clients</a></p>
    ${card("Client metadata", html`${definitions(facts)}${end && html`<p class="bar">${actionLink(end, true)}</p>`}`)}
    <h2>Authorized by</h2>
    ${fullTable({
      id: "client-grants",
      caption: "Grants",
      columns: [
        { name: "User", isHead: true },
        { name: "Server", kind: "wide" },
        { name: "Scopes" },
        { name: "Started", kind: "short" },
        { name: "Expires if unused", kind: "short" },
      ],
      rows: grants.rows.map(({ who, href, server, scope, beganMs, endsMs }) => [
        html`<a href="${href}">${who}</a>`,
        html`<span class="address">${server}</span>`,
        scope,
        consoleTime(beganMs, "minute"),
        consoleTime(endsMs, "minute"),
      ]),
      empty: emptyState("No grants", "Grants appear here once a user authorizes this client."),
    })}
    ${pager(pages)}`;
}

/** A table of a kind of objects (`administration/`). */
export function tableBody(parts: {
  readonly tabs: readonly Tab[];
  readonly filter?: Html;
  readonly table: Html;
  readonly pages: PagerParts;
  readonly more?: Html | undefined;
}): Html {
  return html`${tabs("Clients and machines", parts.tabs)} ${parts.filter} ${parts.table} ${pager(parts.pages)}
  ${parts.more}`;
}
