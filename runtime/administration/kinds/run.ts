/** Agent runs: workloads that act for a user, or ask to. */
import { endRun, findStoredRun, pageRuns, type StoredRun } from "../../oauth/server/runs/list-runs.ts";
import { emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { time } from "../../pages/time.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import {
  textField,
  timeField,
  lastColumn,
  type KindDeps,
  type OwnScreen,
  type ShownKind,
  timeColumn,
  emailField,
} from "../kind.ts";
import { ending } from "../ending.ts";

const STATES = ["pending", "active", "refused"] as const;

export const RUN: ShownKind<StoredRun, Pick<KindDeps, "store" | "revocations" | "log">> & {
  readonly screen: OwnScreen;
} = {
  name: "run",
  plural: "runs",
  command: "runs list",
  doc: "Agent runs: workloads that act for a user, or request it",
  none: "no agent runs",
  fields: [
    textField("id", "ID of the run; it opens nothing", ({ id }) => id),
    textField("state", "State of the run", ({ value }) => value.state, STATES),
    textField("workload", "User ID of the workload", ({ value }) => value.workload.userId),
    textField("claims", "Attested claims of the workload, as JSON", ({ value }) =>
      JSON.stringify(value.workload.claims),
    ),
    textField("user", "ID of the user who decided", ({ value }) => value.userId),
    emailField(({ value }) => value.userId ?? ""),
    textField("approver", "Email address of the user who can approve it", ({ value }) => value.approver),
    textField("purpose", "Purpose, as the workload states it", ({ value }) => value.purpose),
    textField("servers", "Addresses of its MCP servers", ({ value }) => value.servers.join(" ")),
    textField("scope", "Scopes of its tokens", ({ value }) => value.scope),
    timeField("requested", "Time of the request", ({ value }) => value.requestedAt),
    timeField("ends", "End of the run", ({ value }) => value.endsAt),
  ],
  filters: ["user"],
  table: {
    id: "runs",
    caption: (rows, isCut) => `Agent runs (${rows}${isCut ? " of more" : ""}). Purposes are self-reported`,
    columns: [
      {
        name: "Workload",
        isHead: true,
        cell: ({ value }) => html`<bdi>${foreignText(value.workload.userId)}</bdi>`,
      },
      { name: "State", kind: "short", cell: ({ value }) => value.state },
      {
        name: "User",
        cell: ({ value }, { emails }) =>
          html`<bdi>${foreignText(emails.get(value.userId ?? "") || value.userId || value.approver)}</bdi>`,
      },
      { name: "Purpose", kind: "wide", cell: ({ value }) => html`<bdi>${foreignText(value.purpose, 500)}</bdi>` },
      {
        name: "Servers",
        kind: "wide",
        cell: ({ value }) => html`<span class="address">${foreignText(value.servers.join(" "), 500)}</span>`,
      },
      timeColumn("Requested", ({ value }) => value.requestedAt),
      timeColumn("Ends", ({ value }) => value.endsAt),
      lastColumn("end-run", "End", ({ value }) => `the run of ${foreignText(value.workload.userId)}`),
    ],
    empty: emptyState("No agent runs", "Runs appear here once workloads request them."),
  },
  screen: {
    name: "Agent runs",
    group: "Access",
    icon: "gate",
    isUnowned: true,
    filter: { search: "Search workload, user, purpose, server" },
    emptyFiltered: emptyState("No matching runs", "Clear the filter to see all agent runs."),
    more: "There are more agent runs. Use the filter.",
  },
  own: {
    heading: "Agent runs acting for you",
    icon: "clock",
    order: 2,
    isShownEmpty: () => false,
    empty: html`No workload acts for you.`,
    row({ value }) {
      const { workload, purpose, servers, endsAt } = value;
      const name = visibleText(workload.userId);
      return {
        name: html`<bdi>${name}</bdi>`,
        text: html`<bdi>${visibleText(purpose)}</bdi>, on
          ${servers.map((server, index) => html`${index > 0 && ", "}<code>${visibleText(server)}</code>`)}. Ends
          ${time(new Date(endsAt * 1000))}.`,
        end: { button: "End", of: `the run of ${name}` },
      };
    },
  },
  idOf: ({ id }) => id,
  userOf: ({ value }) => value.userId,
  ownerOf: () => undefined,
  texts: ({ value }) => [value.workload.userId, value.userId, value.approver, value.purpose, ...value.servers],
  isPlace: (after) => after.startsWith("run:"),
  page: ({ store }, { filters, ...page }) => pageRuns(store, filters.get("user"), page),
  find: ({ store }, id) => findStoredRun(store, id),
  actions: [
    ending("end-run", {
      title: "End agent run",
      effect: "Revokes the run and all of its tokens within 2 seconds. The workload must request another run.",
      target: ({ id, value }) => `run ${id} of ${value.workload.userId}`,
      before: (_, { value }) => digestOf(value),
      async end(deps, { id, value }, { isOwn }) {
        await endRun(deps, id, value, isOwn ? "ended by the user" : "ended by an administrator");
        return true;
      },
    }),
  ],
};
