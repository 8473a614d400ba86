/** Sessions: browsers that are signed in. */
import { endSession, findSession, pageSessions, type LivingSession } from "../../identity/users/list-sessions.ts";
import { badge, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
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

export const SESSION: ShownKind<LivingSession, Pick<KindDeps, "store" | "revocations">, SeenOfUser> = {
  name: "session",
  plural: "sessions",
  command: "sessions list",
  doc: "Browsers that are signed in",
  none: "nobody is signed in",
  fields: [
    textField("id", "ID of the session; it opens nothing", ({ id }) => id),
    textField("user", "User ID", ({ userId }) => userId),
    emailField(({ userId }) => userId),
    timeField("began", "Time of the sign-in", ({ createdAt }) => createdAt),
    timeField("ends", "End of the session", ({ expiresAt }) => expiresAt),
  ],
  filters: ["user"],
  table: {
    id: "sessions",
    caption: () => "One row per browser",
    columns: [
      {
        name: "Session",
        isHead: true,
        kind: "short",
        cell: ({ id }, { sessionId }) =>
          html`<code>${id}</code>${id === sessionId && html` ${badge("quiet", "this browser")}`}`,
      },
      timeColumn("Started", ({ createdAt }) => createdAt),
      timeColumn("Expires", ({ expiresAt }) => expiresAt),
      {
        name: "Verified devices",
        cell: ({ deviceIds }, { deviceNames }) =>
          deviceIds.map((each) => foreignText(deviceNames.get(each) ?? each)).join(", "),
      },
      { name: "Last IP address", cell: ({ id }, { lastFrom }) => lastFrom.get(id) },
      lastColumn("end-session", "Sign out", ({ id }) => `session ${id}`),
    ],
    empty: emptyState("No active sessions", "Sessions appear here after a sign-in."),
  },
  ofUser: { heading: "Sessions", order: 1 },
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
