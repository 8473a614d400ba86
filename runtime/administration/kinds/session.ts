/** Sessions: browsers that are signed in. */
import { endSession, findSession, pageSessions, type ActiveSession } from "../../identity/users/list-sessions.ts";
import { badge, consoleTime, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { time } from "../../pages/time.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import {
  textField,
  timeField,
  lastColumn,
  type KindDeps,
  type SeenOfUser,
  type ShownKind,
  timeColumn,
  emailField,
} from "../kind.ts";
import { ending } from "../ending.ts";

export const SESSION: ShownKind<ActiveSession, Pick<KindDeps, "store" | "revocations">, SeenOfUser> = {
  name: "session",
  plural: "sessions",
  command: "sessions list",
  doc: "Browsers that are signed in",
  none: "no active sessions",
  fields: [
    textField("id", "ID of the session; it opens nothing", ({ id }) => id),
    textField("user", "User ID", ({ userId }) => userId),
    emailField(({ userId }) => userId),
    textField("browser", "Browser and system, self-reported", ({ used }) => used?.browser),
    textField("ip", "IP address of the last use", ({ used }) => used?.ip),
    timeField("began", "Time of the sign-in", ({ createdAt }) => createdAt),
    timeField("used", "Time of the last use, within 5 minutes", ({ used }) => used?.at),
    timeField("ends", "End of the session", ({ expiresAt }) => expiresAt),
  ],
  filters: ["user"],
  table: {
    id: "sessions",
    caption: () => "One row per browser",
    columns: [
      {
        name: "Browser",
        isHead: true,
        cell: ({ id, used }, { sessionId }) =>
          html`${used?.browser ?? "Unknown browser"}${id === sessionId && html` ${badge("quiet", "this browser")}`}<br /><code
              >${id}</code
            >`,
      },
      {
        name: "Last used",
        kind: "short",
        cell: ({ used }) => used && consoleTime(used.at * 1000, "minute"),
      },
      { name: "IP address", cell: ({ id, used }, { lastFrom }) => foreignText(used?.ip ?? lastFrom.get(id) ?? "") },
      timeColumn("Started", ({ createdAt }) => createdAt),
      timeColumn("Expires", ({ expiresAt }) => expiresAt),
      {
        name: "Verified devices",
        cell: ({ deviceIds }, { deviceNames }) =>
          deviceIds.map((each) => foreignText(deviceNames.get(each) ?? each)).join(", "),
      },
      lastColumn("end-session", "Sign out", ({ id }) => `session ${id}`),
    ],
    empty: emptyState("No active sessions", "Sessions appear here after a sign-in."),
  },
  ofUser: { heading: "Sessions", order: 1 },
  own: {
    heading: "Signed-in browsers",
    icon: "browser",
    order: 2,
    isShownEmpty: () => false,
    empty: html``,
    row(session, { sessionId }) {
      const { id, createdAt, expiresAt, used } = session;
      const isCurrent = id === sessionId;
      const name = isCurrent ? "This browser" : (used?.browser ?? "Another browser");
      const browser = isCurrent && used ? [used.browser] : [];
      const facts = [...browser, ...(used?.ip ? [used.ip] : [])].map((fact) => html`${fact} · `);
      const date = (seconds: number) => time(new Date(seconds * 1000));
      return {
        name,
        text: html`${facts}Signed in ${date(createdAt)}${used && html`, last used ${date(used.at)}`}. Expires
        ${date(expiresAt)}.`,
        isCurrent,
        end: { button: "Sign out", of: `${name}, signed in ${new Date(createdAt * 1000).toISOString().slice(0, 16)}` },
      };
    },
  },
  idOf: ({ id }) => id,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("session:"),
  page: ({ store }, { filters, ...page }) => pageSessions(store, filters.get("user"), page),
  find: ({ store }, id) => findSession(store, id),
  actions: [
    ending("end-session", {
      title: "Sign out session",
      effect: "Signs out on all hosts within 2 seconds and closes open streams. The user can sign in again.",
      target: ({ id, userId }) => `session ${id} of ${userId}`,
      async end(deps, { id }) {
        await endSession(deps, id);
        return true;
      },
    }),
  ],
};
