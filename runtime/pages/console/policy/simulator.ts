/** The simulator: what would become of one request, under the bundle in force and under a draft. */
import { html, type Html } from "../../html.ts";
import { actionFields, card, emptyState } from "../pieces.ts";
import { type VerdictView, verdictCard } from "./verdict.ts";

/** As they stand in the address. */
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
  /** Keys to choose from; with thousands the first ones. */
  readonly routes: readonly string[];
  /** Somebody of the store may be asked about. */
  readonly mayNamePeople: boolean;
  readonly draft?: { readonly id: string; readonly href: string; readonly title: string } | undefined;
  /** Why there is no answer. */
  readonly problem?: string | undefined;
  readonly verdicts: readonly VerdictView[];
  /** Where the rule of the route is changed; absent: nowhere yet. */
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
  ["http", "An HTTP request"],
  ["tool", "A call of a tool"],
  ["prompt", "A prompt"],
  ["resource", "A resource"],
  ["method", "Another MCP method"],
] as const;
const DEVICES = [
  ["", "None"],
  ["any", "Registered"],
  ["enclave_only", "Registered, bound to its hardware"],
  ["approved", "Registered and approved"],
  ["approved_enclave", "Approved, bound to its hardware"],
] as const;

export function simulatorBody(view: SimulatorView): Html {
  const { path, fields, routes, mayNamePeople, draft, problem, verdicts, changeHref, csrfToken, links } = view;
  return html`<p class="bar">${links.map(([href, text]) => html`<a class="button" href="${href}">${text}</a>`)}</p>
    ${
      draft &&
      html`<p class="told">
        Answers are given for the bundle in force and for <a href="${draft.href}">${draft.title}</a>.
      </p>`
    }
    <form method="get" action="${path}" aria-label="Request">
      ${draft && html`<input type="hidden" name="draft" value="${draft.id}" />`}
      <div class="cards">
        <fieldset>
          <legend>Who</legend>
          ${select("who", "Person", fields.who, mayNamePeople ? [KNOWN, ...WHO] : WHO)}
          ${mayNamePeople && input("person", "User: email or ID", fields.person)}
          ${input("email", "Email", fields.email)} ${input("user", "User ID", fields.user)}
          ${input("groups", "Groups, comma-separated", fields.groups)}
          ${area("claims", "Claims, one name=value per line", fields.claims)}
        </fieldset>
        <fieldset>
          <legend>Where</legend>
          ${input("route", "Route, owner/name", fields.route, "simulator-routes")}
          <datalist id="simulator-routes">${routes.map((key) => html`<option value="${key}"></option>`)}</datalist>
          ${input("address", "Or request URL", fields.address)}
          ${select("device", "Verified device", fields.device, DEVICES)}
          ${input("device_id", "Device ID", fields.device_id)} ${input("ip", "IP address", fields.ip)}
        </fieldset>
        <fieldset>
          <legend>What</legend>
          ${select("message", "Kind", fields.message, MESSAGES)}
          ${input("method", "HTTP method, or MCP method", fields.method)}
          ${input("path", "Path of an HTTP request", fields.path)}
          ${input("name", "Tool, prompt or resource URI", fields.name)}
          ${area("arguments", "Arguments, JSON", fields.arguments)}
        </fieldset>
      </div>
      <p class="bar">
        <button class="primary" type="submit">Simulate</button><a class="button" href="${path}">Clear</a>
      </p>
    </form>
    ${problem !== undefined && html`<p class="refused" role="alert">${problem}</p>`} ${verdicts.map(verdictCard)}
    ${changeHref !== undefined && html`<p><a class="button" href="${changeHref}">Edit this policy as a draft</a></p>`}
    ${
      verdicts.length === 0 &&
      problem === undefined &&
      emptyState("No simulation yet", "Select user, route and request. The URL can be shared.")
    }
    ${card(
      "Longer arguments",
      html`<details>
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
            <label for="long-arguments">Arguments, JSON, with all else as it was asked last</label>
            <textarea id="long-arguments" name="arguments" spellcheck="false">${fields.arguments}</textarea>
          </p>
          <p><button type="submit">Simulate with these arguments</button></p>
        </form>
      </details>`,
    )}`;
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
