/** The console's page of one route: who may what, what is sent, and how it goes. */
import { outcomeMark } from "../outcome.ts";
import type { ClientRecipe } from "../../client-recipe.ts";
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import type {
  AccessPart,
  ConfigurationPart,
  LockView,
  TrafficPart,
  UsersPart,
  HeaderLine,
  PeopleOfRoute,
  ReachRow,
  RouteView,
  RouteRuleView,
  ToolRow,
} from "./route-view.ts";
import { monogram } from "../../monogram.ts";
import { figureCards } from "./figures.ts";
import { matrixPart, ruleAnchor } from "./matrix.ts";
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
  tabs,
  type Tone,
} from "../pieces.ts";

const MAY: Readonly<Record<ReachRow["may"], readonly [Tone, string]>> = {
  all: ["good", "everything"],
  some: ["warn", "some requests"],
  none: ["quiet", "nothing"],
};

export function routeBody(view: RouteView): Html {
  const { access, users, traffic, recipes, configuration } = view;
  return html`<p class="crumb"><a href="${view.list}">Servers and apps</a> / ${view.owner}</p>
    <div class="named bar">
      ${monogram(view.name, "l")}
      <p>
        ${view.description !== "" && html`${view.description}<br />`}<code>${view.address}</code>
        <span class="dim">${view.kind}</span>
      </p>
    </div>
    ${view.block !== undefined && html`<p class="refused" role="status">Blocked: all requests are denied. ${view.block}</p>`}
    ${tabs("Parts of this page", view.tabs)} ${access && accessTab(access)}
    ${users && reachParts(users, view.isServer ? "server" : "app")}
    ${traffic && html`${callsPart(traffic)} ${upstreamParts(traffic)}`} ${recipes && recipesCard(recipes)}
    ${configuration && configurationTab(configuration)}`;
}

function accessTab({ figures, matrix, rules, trials, tools }: AccessPart): Html {
  return html`${figures === "failed" && sourceFailed("The record store")}
  ${typeof figures === "object" && figureCards(figures, "24 h")} ${matrix && matrixPart(matrix)}
  ${card(
    "Rules, in order",
    html`${rulesList(rules)}
      <p class="dim">
        Deny rules win. Unknown attributes, such as groups that the identity provider omits, never grant access.
      </p>
      ${trials.map(
        ({ name, rules: tried }) =>
          html`<h3>Shadow policy, not enforced: <code>${name}</code></h3>
            ${rulesList(tried, false)}`,
      )}`,
  )}
  ${toolsPart(tools)}`;
}

function configurationTab({ key, facts, written, request, response }: ConfigurationPart): Html {
  return html`${card("Details", definitions([["Key", html`<code>${key}</code>`], ...facts]))}
  ${card("Policy", html`<pre>${written}</pre>`)} ${headersPart("request-headers", "Headers to the upstream", request)}
  ${headersPart("response-headers", "Headers to the client", response)}`;
}

/** @param isEnforced cells of the matrix link to these rules */
function rulesList(rules: readonly RouteRuleView[], isEnforced = true): Html {
  if (rules.length === 0) return html`<p>No rules. All requests are denied.</p>`;
  return html`<ol class="rule-list">
    ${rules.map(
      ({ lead, clauses }, index) =>
        html`<li ${isEnforced && html`id="${ruleAnchor(index + 1)}"`}>
          ${
            clauses.length === 1
              ? html`${index + 1}. ${lead} ${clauses[0]}.`
              : html`${index + 1}. ${lead}:
                  <ul>
                    ${clauses.map((clause) => html`<li>${clause}</li>`)}
                  </ul>`
          }
        </li>`,
    )}
  </ol>`;
}

function reachParts({ subjects, people }: UsersPart, noun: string): Html {
  const left = subjects.omitted;
  return html`<h2>Access by user</h2>
    ${fullTable({
      id: "subjects",
      caption: "Subjects named in rules",
      columns: REACH_COLUMNS,
      rows: subjects.rows.map((row) => reachCells(row, row.who, noun)),
      empty: html``,
    })}
    ${left > 0 && html`<p class="dim">${left} more combinations of what the rules name were left out.</p>`}
    ${people === "failed" && sourceFailed("The store, which knows the people,")}
    ${typeof people === "object" && peoplePart(people, noun)}`;
}

function peoplePart({ rows, pages }: PeopleOfRoute, noun: string): Html {
  const may = rows.filter((row) => row.may !== "none").length;
  return html`${fullTable({
    id: "known-people",
    caption: `Known users: ${may} of ${rows.length} ${rows.length === 1 ? "user" : "users"} on this page can use this ${noun}`,
    columns: REACH_COLUMNS,
    rows: rows.map((row) => reachCells(row, html`<a href="${row.href}">${row.who}</a>`, noun)),
    empty: emptyState("No users yet", "Users appear here once they sign in or a client acts for them."),
  })}
  ${pager({ ...pages, nextText: "More users" })}`;
}

const REACH_COLUMNS: readonly TableColumn[] = [
  { name: "User", isHead: true, kind: "wide" },
  { name: "May", kind: "short" },
  { name: "Tools", kind: "wide" },
  { name: "By this rule", kind: "wide" },
];

function reachCells({ may, why, tools }: ReachRow, who: string | Html, noun: string): readonly HtmlValue[] {
  const [tone, text] = MAY[may];
  return [who, badge(tone, may === "some" && noun === "server" ? "some tools" : text), tools, why];
}

function needCard(need: TrafficPart["need"]): Html | undefined {
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

function upstreamParts({ upstreams, connections, need }: TrafficPart): Html {
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

function toolsPart(tools: LockView | undefined): Html | undefined {
  if (!tools) return undefined;
  const { rows, onDrift, omitted } = tools;
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
    ${omitted > 0 && html`<p class="dim">${omitted} more.</p>`}`;
}

function callsPart({ calls, decisions }: TrafficPart): Html | undefined {
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
