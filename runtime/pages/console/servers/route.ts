/** The console's page of one route: who may what, what is sent, and how it goes. */
import { outcomeMark } from "../outcome.ts";
import type { ClientRecipe } from "../../client-recipe.ts";
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import type { CallRow, HeaderLine, PeopleOfRoute, ReachRow, RouteView, RouteRuleView, ToolRow } from "./route-view.ts";
import {
  actionFields,
  badge,
  card,
  type TableColumn,
  consoleDuration,
  consoleTime,
  definitions,
  emptyState,
  pager,
  sourceFailed,
  type Tone,
} from "../pieces.ts";

const MAY: Readonly<Record<ReachRow["may"], readonly [Tone, string]>> = {
  all: ["good", "everything"],
  some: ["warn", "some requests"],
  none: ["quiet", "nothing"],
};

export function routeBody(view: RouteView): Html {
  return html`${view.block !== undefined && html`<p class="refused" role="status">Blocked: nobody reaches it. ${view.block}</p>`}
  ${card(
    "Details",
    definitions([
      ["Address", html`<code>${view.address}</code>`],
      ["Kind", view.kind],
      ["Owner", view.owner],
      ["Key", html`<code>${view.key}</code>`],
      ...view.facts,
    ]),
  )}
  ${policyCard(view)} ${reachParts(view)} ${upstreamParts(view)} ${toolsPart(view.tools)} ${callsPart(view)}
  ${headersPart("request-headers", "Headers to the upstream", view.request)}
  ${headersPart("response-headers", "Headers to the client", view.response)} ${recipesCard(view.recipes)}`;
}

function policyCard({ rules, written, trials }: RouteView): Html {
  return card(
    "Policy",
    html`${rulesList(rules)}
      <p class="dim">
        Deny rules win. Unknown attributes, such as groups that the identity provider omits, never grant access.
      </p>
      ${trials.map(
        ({ name, rules: tried }) =>
          html`<h3>Shadow policy, not enforced: <code>${name}</code></h3>
            ${rulesList(tried)}`,
      )}
      <details>
        <summary>Source</summary>
        <pre>${written}</pre>
      </details>`,
  );
}

function rulesList(rules: readonly RouteRuleView[]): Html {
  if (rules.length === 0) return html`<p>No rules. All requests are denied.</p>`;
  return html`<ul>
    ${rules.map(({ lead, clauses }) =>
      clauses.length === 1
        ? html`<li>${lead} ${clauses[0]}.</li>`
        : html`<li>
            ${lead}:
            <ul>
              ${clauses.map((clause) => html`<li>${clause}</li>`)}
            </ul>
          </li>`,
    )}
  </ul>`;
}

function reachParts({ subjects, people }: RouteView): Html {
  const left = subjects.leftOut;
  return html`<h2>Access by user</h2>
    ${fullTable({
      id: "subjects",
      caption: "Subjects named in rules",
      columns: REACH_COLUMNS,
      rows: subjects.rows.map((row) => reachCells(row, row.who)),
      empty: html``,
    })}
    ${left > 0 && html`<p class="dim">${left} more combinations of what the rules name were left out.</p>`}
    ${people === "failed" && sourceFailed("The store, which knows the people,")}
    ${typeof people === "object" && peoplePart(people)}`;
}

function peoplePart({ rows, pages }: PeopleOfRoute): Html {
  const may = rows.filter((row) => row.may !== "none").length;
  return html`${fullTable({
    id: "known-people",
    caption: `People who have signed in, as they were last seen: ${may} of the ${rows.length} on this page may something`,
    columns: REACH_COLUMNS,
    rows: rows.map((row) => reachCells(row, html`<a href="${row.href}">${row.who}</a>`)),
    empty: emptyState("No users yet", "Users appear here once they sign in."),
  })}
  ${pager({ ...pages, nextText: "More people" })}`;
}

const REACH_COLUMNS: readonly TableColumn[] = [
  { name: "User", isHead: true, kind: "wide" },
  { name: "May", kind: "short" },
  { name: "Tools", kind: "wide" },
  { name: "By this rule", kind: "wide" },
];

function reachCells({ may, why, tools }: ReachRow, who: string | Html): readonly HtmlValue[] {
  return [who, badge(...MAY[may]), tools, why];
}

function needCard(need: RouteView["need"]): Html | undefined {
  if (need === undefined) return undefined;
  if (need === "failed") return sourceFailed("The store, which has what was learned about the upstream,");
  const { text, sinceMs, forget } = need;
  return card(
    "Learned about the upstream",
    html`<p>It ${text}${sinceMs !== undefined && html` (since ${consoleTime(sinceMs)})`}.</p>
      ${
        forget !== undefined &&
        html`<form method="post" action="${forget.action}">
          ${actionFields({ name: "forget-need", csrfToken: forget.csrfToken, fields: [] })}
          <button>Forget it</button>
          <p class="dim">The gateway finds it out again at the next sign-in or request.</p>
        </form>`
      }`,
  );
}

function upstreamParts({ upstreams, connections, need }: RouteView): Html {
  return html`${
    upstreams !== undefined &&
    upstreams.length > 0 &&
    html`<h2>Upstreams</h2>
      ${fullTable({
        id: "upstreams",
        caption: "Status in this process",
        columns: [
          { name: "Address", isHead: true },
          { name: "State", kind: "short" },
          { name: "Notes", kind: "wide" },
        ],
        rows: upstreams.map(({ address, isWell, notes }) => [
          html`<span class="address">${address}</span>`,
          isWell === undefined
            ? badge("quiet", "not watched")
            : isWell
              ? badge("good", "well")
              : badge("bad", "not well"),
          notes.join("; "),
        ]),
        empty: html``,
      })}`
  }
  ${connections === "failed" && sourceFailed("The store, which has what users have connected,")}
  ${
    typeof connections === "object" &&
    card(
      "Accounts at the upstream",
      html`<p>
        ${connections.connected} ${connections.connected === 1 ? "person has" : "people have"} connected
        one${connections.ended > 0 && html`; ${connections.ended} ${connections.ended === 1 ? "has" : "have"} to connect again, since the upstream no longer takes what it gave`}${connections.isCut && html`. There are more than were counted`}.
      </p>`,
    )
  }
  ${needCard(need)}`;
}

const TOOL_STATES: Readonly<Record<ToolRow["state"], readonly [Tone, string]>> = {
  reviewed: ["good", "as reviewed"],
  changed: ["bad", "not as reviewed"],
  unlocked: ["warn", "never reviewed"],
};

function toolsPart(tools: RouteView["tools"]): Html | undefined {
  if (!tools) return undefined;
  const { rows, onDrift, leftOut } = tools;
  return html`<h2>Tools</h2>
    ${fullTable({
      id: "tools",
      caption: `Reviewed tools and other locked items, those that differ first. What differs: ${onDrift}`,
      columns: [
        { name: "Item", isHead: true },
        { name: "State", kind: "short" },
      ],
      rows: rows.map(({ name, state }) => [html`<code>${name}</code>`, badge(...TOOL_STATES[state])]),
      empty: emptyState("The lock is empty", "The lock of this server names none: whatever it lists differs."),
    })}
    ${leftOut > 0 && html`<p class="dim">${leftOut} more.</p>`}`;
}

function callsPart({ calls, decisions }: RouteView): Html | undefined {
  if (calls === undefined) return undefined;
  if (calls === "failed")
    return html`<h2>Last requests</h2>
      ${sourceFailed("The record store")}`;
  const { rows, counted, denied, failed } = calls;
  return html`<h2>Last requests</h2>
    ${fullTable({
      id: "calls",
      caption: `Of the last ${counted}, ${denied} ${denied === 1 ? "was" : "were"} denied and ${failed} failed (${percent(failed, counted)})`,
      columns: [
        { name: "Time", kind: "short" },
        { name: "Outcome", kind: "short" },
        { name: "User", isHead: true },
        { name: "Request" },
        { name: "Status", kind: "number" },
        { name: "Duration", kind: "number" },
      ],
      rows: rows.map(({ href, timeMs, who, what, outcome, status, durationMs }) => [
        href === undefined ? consoleTime(timeMs) : html`<a href="${href}">${consoleTime(timeMs)}</a>`,
        outcomeMark(outcome),
        who,
        what,
        status === undefined || status === 0 ? "" : status,
        durationMs === undefined ? "" : consoleDuration(durationMs),
      ]),
      empty: emptyState("No requests yet", "Requests appear here."),
    })}
    ${decisions !== undefined && rows.length > 0 && html`<p><a href="${decisions}">All decisions about it</a></p>`}`;
}

function percent(some: number, all: number): string {
  return all === 0 ? "0 %" : `${((100 * some) / all).toFixed(some > 0 && some * 100 < all ? 1 : 0)} %`;
}

const HOW: Readonly<Record<HeaderLine["how"], string>> = {
  set: "set",
  removed: "removed",
  passed: "passed on",
  gateway: "by the gateway",
  rewritten: "changed",
};

function headersPart(id: string, title: string, lines: readonly HeaderLine[]): Html {
  return html`<h2>${title}</h2>
    ${fullTable({
      id,
      caption: `${title}, as they will be sent. Values that are secret are not shown`,
      columns: [
        { name: "Header", isHead: true },
        { name: "Action", kind: "short" },
        { name: "Value", kind: "wide" },
      ],
      rows: lines.map(({ name, how, value }) => [name, HOW[how], value]),
      empty: html``,
    })}`;
}

function recipesCard(recipes: readonly ClientRecipe[]): Html | undefined {
  if (recipes.length === 0) return undefined;
  return card(
    "How to connect",
    recipes.map(
      ({ client, where, text }) =>
        html`<details>
          <summary>${client}</summary>
          <p>${where}:</p>
          <pre>${text}</pre>
        </details>`,
    ),
  );
}
