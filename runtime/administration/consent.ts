/** Remembered consents: what clients get again without asking the user. */
import { findConsent, pageConsents, withdrawConsent, type LivingConsent } from "../oauth/server/list-access.ts";
import { consoleTime } from "../pages/console/pieces.ts";
import { html } from "../pages/html.ts";
import { digestOf } from "../shared/canonical-json.ts";
import { foreignText } from "../shared/json/foreign-text.ts";
import { ending, lastColumn, type KindDeps, type ShownKind } from "./kind.ts";

export const CONSENT: ShownKind<LivingConsent, Pick<KindDeps, "store">> = {
  name: "consent",
  plural: "consents",
  command: "consents list",
  doc: "Remembered consents, by which clients get access again without asking the user",
  none: "no consent is remembered",
  fields: [
    { name: "id", type: "text", doc: "ID of the consent", value: ({ key }) => key },
    {
      name: "client",
      type: "text",
      doc: "Name of the client, as the client calls itself",
      value: (of) => of.clientName,
    },
    { name: "client_id", type: "text", doc: "ID of the client", value: ({ clientId }) => clientId },
    { name: "user", type: "text", doc: "User ID", value: ({ userId }) => userId },
    {
      name: "email",
      type: "text",
      doc: "Email address of the user",
      value: ({ userId }, emails) => emails.get(userId),
    },
    {
      name: "server",
      type: "text",
      doc: "Address of the MCP server, or of the host",
      value: ({ audience }) => audience,
    },
    { name: "given", type: "time", doc: "Time of the consent", value: ({ grantedAt }) => grantedAt },
    { name: "ends", type: "time", doc: "End of the consent", value: ({ expiresAt }) => expiresAt },
  ],
  filters: ["user"],
  table: {
    id: "approvals",
    caption: () => "What clients get again without asking",
    columns: [
      { name: "Client", isHead: true, cell: ({ clientName }) => foreignText(clientName) },
      {
        name: "Server",
        kind: "wide",
        cell: ({ audience }) => html`<span class="address">${foreignText(audience)}</span>`,
      },
      { name: "Given", kind: "short", cell: ({ grantedAt }) => consoleTime(grantedAt * 1000, "minute") },
      { name: "Ends", kind: "short", cell: ({ expiresAt }) => consoleTime(expiresAt * 1000, "minute") },
      lastColumn("end-approval", "Withdraw", ({ clientName }) => `approval of ${foreignText(clientName)}`),
    ],
    empty: html``,
  },
  idOf: ({ key }) => key,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("consent:"),
  page: ({ store }, { filters, ...page }) => pageConsents(store, filters.get("user"), page),
  find: ({ store }, key) => findConsent(store, key),
  actions: [
    ending("end-approval", {
      title: "Withdraw the remembered approval",
      effect: "The client has to ask the person the next time. What it was granted already goes on.",
      target: ({ key, userId }) => `approval ${key} of ${userId}`,
      before: (_, { userId: _user, ...consent }) => digestOf(consent),
      end: ({ store }, { key, userId }) => withdrawConsent(store, userId, key),
    }),
  ],
};
