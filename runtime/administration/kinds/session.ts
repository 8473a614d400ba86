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
    caption: () => "Sessions, each of one browser",
    columns: [
      {
        name: "Session",
        isHead: true,
        kind: "short",
        cell: ({ id }, { sessionId }) =>
          html`<code>${id}</code>${id === sessionId && html` ${badge("quiet", "this browser")}`}`,
      },
      timeColumn("Began", ({ createdAt }) => createdAt),
      timeColumn("Ends", ({ expiresAt }) => expiresAt),
      {
        name: "Devices proven",
        cell: ({ deviceIds }, { deviceNames }) =>
          deviceIds.map((each) => foreignText(deviceNames.get(each) ?? each)).join(", "),
      },
      { name: "Last seen from", cell: ({ id }, { lastFrom }) => lastFrom.get(id) },
      lastColumn("end-session", "End", ({ id }) => `session ${id}`),
    ],
    empty: emptyState("No browser is signed in", "A session appears here from a sign-in on until its end."),
  },
  ofUser: { heading: "Signed-in browsers", order: 1 },
  idOf: ({ id }) => id,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("session:"),
  page: ({ store }, { filters, ...page }) => pageSessions(store, filters.get("user"), page),
  find: ({ store }, id) => findSession(store, id),
  actions: [
    ending("end-session", {
      title: "End the session",
      effect:
        "The browser is signed out on every host, in every process within 2 seconds, and what it has open ends. The person may sign in again.",
      target: ({ id, userId }) => `session ${id} of ${userId}`,
      async end(deps, { id }) {
        await endSession(deps, id);
        return true;
      },
    }),
  ],
};
