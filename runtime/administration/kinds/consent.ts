/** Remembered consents: scopes that clients get again without asking the user. */
import { findConsent, pageConsents, withdrawConsent, type ActiveConsent } from "../../oauth/server/list-access.ts";
import { html } from "../../pages/html.ts";
import { time } from "../../pages/time.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import { textField, timeField, lastColumn, type KindDeps, type ShownKind, timeColumn, emailField } from "../kind.ts";
import { ending } from "../ending.ts";

export const CONSENT: ShownKind<ActiveConsent, Pick<KindDeps, "store">> = {
  name: "consent",
  plural: "consents",
  command: "consents list",
  doc: "Remembered consents, by which clients get access again without asking the user",
  none: "no consent is remembered",
  fields: [
    textField("id", "ID of the consent", ({ key }) => key),
    textField("client", "Name of the client, as the client calls itself", (of) => of.clientName),
    textField("client_id", "ID of the client", ({ clientId }) => clientId),
    textField("user", "User ID", ({ userId }) => userId),
    emailField(({ userId }) => userId),
    textField("server", "Address of the MCP server, or of the host", ({ audience }) => audience),
    timeField("given", "Time of the consent", ({ grantedAt }) => grantedAt),
    timeField("ends", "End of the consent", ({ expiresAt }) => expiresAt),
  ],
  filters: ["user"],
  table: {
    id: "approvals",
    caption: () => "Remembered consents",
    columns: [
      { name: "Client", isHead: true, cell: ({ clientName }) => foreignText(clientName) },
      {
        name: "Server",
        kind: "wide",
        cell: ({ audience }) => html`<span class="address">${foreignText(audience)}</span>`,
      },
      timeColumn("Given", ({ grantedAt }) => grantedAt),
      timeColumn("Expires", ({ expiresAt }) => expiresAt),
      lastColumn("end-approval", "Delete", ({ clientName }) => `approval of ${foreignText(clientName)}`),
    ],
    empty: html``,
  },
  own: {
    heading: "Remembered consents",
    icon: "check",
    order: 3,
    isShownEmpty: () => false,
    empty: html``,
    foot: html`These applications get access again without asking you.`,
    row({ clientName, audience, grantedAt, expiresAt }) {
      const name = visibleText(clientName);
      return {
        name,
        text: html`<code>${audience}</code>, since ${time(new Date(grantedAt * 1000))}. Expires
          ${time(new Date(expiresAt * 1000))}.`,
        end: { button: "Ask me next time", of: `about ${name}` },
      };
    },
  },
  ofUser: { heading: "Remembered consents", order: 3, hidesWhenEmpty: true },
  idOf: ({ key }) => key,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("consent:"),
  page: ({ store }, { filters, ...page }) => pageConsents(store, filters.get("user"), page),
  find: ({ store }, key) => findConsent(store, key),
  actions: [
    ending("end-approval", {
      title: "Delete remembered consent",
      effect: "The client must ask again next time. Existing access is kept.",
      target: ({ key, userId }) => `approval ${key} of ${userId}`,
      before: (_, { userId: _user, ...consent }) => digestOf(consent),
      end: ({ store }, { key, userId }) => withdrawConsent(store, userId, key),
    }),
  ],
};
