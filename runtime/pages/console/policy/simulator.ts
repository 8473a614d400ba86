/** The simulator: the question on the left, with the fields of what is chosen; the verdict on the right, and that of a draft. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import { actionFields, badge, emptyState } from "../pieces.ts";
import { type VerdictView, verdictCard } from "./verdict.ts";

/** As addresses have them. */
export interface SimulatorFields {
  readonly route: string;
  readonly address: string;
  readonly who: string;
  readonly person: string;
  readonly user: string;
  readonly email: string;
  readonly groups: string;
  /** A line each. */
  readonly claims: string;
  /** The workload that acts for the user, and its claims, a line each. */
  readonly actor: string;
  readonly actor_claims: string;
  readonly method: string;
  readonly path: string;
  readonly message: string;
  readonly name: string;
  readonly arguments: string;
  readonly device: string;
  readonly device_id: string;
  readonly ip: string;
}

export interface SimulatorView {
  readonly path: string;
  readonly fields: SimulatorFields;
  /** Keys, emails and names to choose from; of thousands the first. */
  readonly routes: readonly string[];
  readonly users: readonly string[];
  readonly tools: readonly string[];
  /** Existing users can be chosen. */
  readonly mayNamePeople: boolean;
  /** Decisions can be loaded. */
  readonly hasRecords: boolean;
  readonly draft?: { readonly id: string; readonly href: string; readonly title: string } | undefined;
  /** Drafts to compare with. */
  readonly drafts: readonly { readonly id: string; readonly title: string }[];
  /** Why there is no result. */
  readonly problem?: string | undefined;
  readonly verdicts: readonly VerdictView[];
  /** Where the policy of the route is edited; absent: no route is chosen. */
  readonly changeHref?: string | undefined;
  readonly csrfToken: string;
  readonly links: readonly (readonly [href: string, text: string])[];
}

const WHO = [
  ["imagined", "Hypothetical user"],
  ["anonymous", "Anonymous"],
] as const;
const KNOWN = ["known", "Existing user"] as const;
const MESSAGES = [
  ["tool", "Tool"],
  ["prompt", "Prompt"],
  ["resource", "Resource"],
  ["method", "Other MCP method"],
  ["http", "HTTP"],
] as const;
const DEVICES = [
  ["", "None"],
  ["any", "Registered"],
  ["enclave_only", "Registered, bound to its hardware"],
  ["approved", "Registered and approved"],
  ["approved_enclave", "Approved, bound to its hardware"],
] as const;

export function simulatorBody(view: SimulatorView): Html {
  const { path, links, problem, verdicts, changeHref, hasRecords } = view;
  const [active, other] = verdicts;
  const compared =
    active &&
    other &&
    (active.verdict.text === other.verdict.text ? badge("quiet", "Same") : badge("warn", "Different"));
  return html`<div class="head">
      <p>The result of a request, and why. Nothing is sent, counted or recorded.</p>
      ${links.map(([href, text]) => html`<a class="button" href="${href}">${text}</a>`)}
    </div>
    <div class="two">
      <div class="card sim">
        <h2>Question</h2>
        ${hasRecords && loadForm(path)} ${questionForm(view)} ${longForm(view)}
      </div>
      <div>
        ${problem !== undefined && html`<p class="refused" role="alert">${problem}</p>`}
        ${verdicts.map((verdict) => verdictCard(verdict, verdict === other ? compared : undefined))}
        ${changeHref !== undefined && html`<p><a class="button" href="${changeHref}">Edit this policy as a draft</a></p>`}
        ${
          verdicts.length === 0 &&
          problem === undefined &&
          emptyState("No simulation yet", "Choose user, route and request. The address can be shared.")
        }
      </div>
    </div>`;
}

function loadForm(path: string): Html {
  return html`<details class="more">
    <summary>Load from a decision</summary>
    <form method="get" action="${path}" aria-label="Load from a decision">
      <p>
        <label for="simulator-load">Request ID</label>
        <input id="simulator-load" name="load" maxlength="256" required autocomplete="off" spellcheck="false" />
      </p>
      <p><button type="submit">Load</button></p>
    </form>
  </details>`;
}

function questionForm(view: SimulatorView): Html {
  const { path, fields, routes, users, tools, mayNamePeople, draft, drafts } = view;
  const message = (names: string, ...body: readonly HtmlValue[]): Html => html`<div class="on ${names}">${body}</div>`;
  return html`<form method="get" action="${path}" aria-label="Request">
    <fieldset>
      <legend>User</legend>
      ${segments("who", fields.who, mayNamePeople ? [KNOWN, ...WHO] : WHO)}
      ${mayNamePeople && message("who-known", input("person", "User: email or ID", fields.person, "simulator-users"))}
      ${message("who-imagined", input("groups", "Groups, comma-separated", fields.groups))}
      <details class="more" ${hasMore(fields) && html`open`}>
        <summary>Email, claims, agent run, device, IP address</summary>
        ${message(
          "who-imagined",
          input("email", "Email", fields.email),
          input("user", "User ID", fields.user),
          area("claims", "Claims, one name=value per line", fields.claims),
        )}
        ${input("actor", "Acting workload: user ID", fields.actor)}
        ${area("actor_claims", "Its claims, one name=value per line", fields.actor_claims)}
        ${select("device", "Verified device", fields.device, DEVICES)}
        ${input("device_id", "Device ID", fields.device_id)} ${input("ip", "IP address", fields.ip)}
      </details>
    </fieldset>
    <fieldset>
      <legend>Route</legend>
      ${input("route", "Route, owner/name", fields.route, "simulator-routes")}
      <details class="more" ${fields.address !== "" && html`open`}>
        <summary>Request URL instead</summary>
        ${input("address", "Or request URL", fields.address)}
      </details>
    </fieldset>
    <fieldset>
      <legend>Request</legend>
      ${segments("message", fields.message, MESSAGES)}
      ${message(
        "message-tool message-prompt message-resource",
        input("name", "Tool, prompt or resource URI", fields.name, "simulator-tools"),
      )}
      ${message("message-tool", area("arguments", "Arguments, JSON", fields.arguments))}
      ${message("message-method message-http", input("method", "HTTP method, or MCP method", fields.method))}
      ${message("message-http", input("path", "Path of an HTTP request", fields.path))}
    </fieldset>
    ${
      (draft !== undefined || drafts.length > 0) &&
      html`<p>
        <label for="simulator-draft">Compare with</label>
        <select id="simulator-draft" name="draft">
          <option value="">Nothing</option>
          ${withCurrent(drafts, draft).map(
            ({ id, title }) => html`<option value="${id}" ${id === draft?.id && html`selected`}>${title}</option>`,
          )}
        </select>
        ${draft && html`<a href="${draft.href}">Open draft</a>`}
      </p>`
    }
    ${datalist("simulator-routes", routes)} ${datalist("simulator-users", users)} ${datalist("simulator-tools", tools)}
    <p class="bar"><button class="primary" type="submit">Simulate</button><a class="button" href="${path}">Clear</a></p>
  </form>`;
}

function hasMore(fields: SimulatorFields): boolean {
  const { email, user, claims, actor, actor_claims: actorClaims, device, device_id: id, ip } = fields;
  return [email, user, claims, actor, actorClaims, device, id, ip].some((value) => value !== "");
}

function withCurrent(drafts: SimulatorView["drafts"], draft: SimulatorView["draft"]): SimulatorView["drafts"] {
  return draft === undefined || drafts.some(({ id }) => id === draft.id) ? drafts : [draft, ...drafts];
}

/** Arguments that are too long for an address. */
function longForm({ path, fields, draft, csrfToken }: SimulatorView): Html {
  return html`<details class="more">
    <summary>Use long arguments</summary>
    <form class="code" method="post" action="${path}" aria-label="Request with long arguments">
      ${actionFields({
        name: "ask",
        csrfToken,
        fields: [
          ...Object.entries(fields).filter(([name]) => name !== "arguments"),
          ...(draft ? ([["draft", draft.id]] as const) : []),
        ],
      })}
      <p>
        <label for="long-arguments">Arguments, JSON, with the other fields of the last simulation</label>
        <textarea id="long-arguments" name="arguments" spellcheck="false">${fields.arguments}</textarea>
      </p>
      <p><button type="submit">Simulate with these arguments</button></p>
    </form>
  </details>`;
}

function datalist(id: string, values: readonly string[]): Html {
  return html`<datalist id="${id}">${values.map((value) => html`<option value="${value}"></option>`)}</datalist>`;
}

/** A choice whose fields the style sheet shows: classes of the fields name the values. */
function segments(name: string, value: string, options: readonly (readonly [string, string])[]): Html {
  return html`<div class="seg">
    ${options.map(
      ([each, text]) =>
        html`<input
            type="radio"
            id="${name}-${each}"
            name="${name}"
            value="${each}"
            ${each === value && html`checked`}
          /><label for="${name}-${each}">${text}</label>`,
    )}
  </div>`;
}

function input(name: string, label: string, value: string, list?: string): Html {
  return html`<p>
    <label for="simulator-${name}">${label}</label>
    <input
      id="simulator-${name}"
      name="${name}"
      value="${value}"
      maxlength="2000"
      autocomplete="off"
      spellcheck="false"
      ${list !== undefined && html`list="${list}"`}
    />
  </p>`;
}

function area(name: string, label: string, value: string): Html {
  return html`<p>
    <label for="simulator-${name}">${label}</label>
    <textarea id="simulator-${name}" name="${name}" rows="3" maxlength="4000" spellcheck="false">${value}</textarea>
  </p>`;
}

function select(name: string, label: string, value: string, options: readonly (readonly [string, string])[]): Html {
  return html`<p>
    <label for="simulator-${name}">${label}</label>
    <select id="simulator-${name}" name="${name}">
      ${options.map(
        ([each, text]) => html`<option value="${each}" ${each === value && html`selected`}>${text}</option>`,
      )}
    </select>
  </p>`;
}
