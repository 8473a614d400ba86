/** Grants: the access that users gave to OAuth clients. */
import { findGrant } from "../../oauth/server/grant-records.ts";
import { endAccess, findActiveGrant, pageGrants, type ActiveGrant } from "../../oauth/server/list-access.ts";
import { clientName } from "../../pages/console/people/person.ts";
import { emptyState } from "../../pages/console/pieces.ts";
import { html, type Html } from "../../pages/html.ts";
import { time } from "../../pages/time.ts";
import { isClientIdUrl } from "../../oauth/server/clients/client-document.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
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

export const GRANT: ShownKind<ActiveGrant, Pick<KindDeps, "store" | "revocations" | "log">, SeenOfUser> = {
  name: "grant",
  plural: "grants",
  command: "grants list",
  doc: "Access of OAuth clients that users have granted",
  none: "no client has access",
  fields: [
    textField("id", "ID of the grant; it opens nothing", ({ id }) => id),
    textField("client", "Name of the client, as the client calls itself", (of) => of.clientName),
    textField("client_id", "ID of the client", ({ clientId }) => clientId),
    textField("user", "User ID", ({ userId }) => userId),
    emailField(({ userId }) => userId),
    textField("server", "Address of the MCP server, or of the host", ({ audience }) => audience),
    textField(
      "issuer",
      "Issuer whose assertion allowed it, instead of the user's consent",
      ({ assertedBy }) => assertedBy?.name,
    ),
    timeField("began", "Time of the consent", ({ createdAt }) => createdAt),
    timeField("ends", "End unless the client uses it", ({ expiresAt }) => expiresAt),
    timeField("ends_for_good", "End that no use puts off", ({ endsAt }) => endsAt),
  ],
  filters: ["user", "client_id"],
  table: {
    id: "grants",
    caption: () => "One row per client and server. Unverified names are self-reported",
    columns: [
      {
        name: "Client",
        isHead: true,
        cell: (grant, { clientHref, vouchedBy }) =>
          clientName(foreignText(grant.clientName), clientHref(grant.clientId), vouchedBy(grant.clientId)),
      },
      {
        name: "Server",
        kind: "wide",
        cell: ({ audience }) => html`<span class="address">${foreignText(audience)}</span>`,
      },
      { name: "Scopes", cell: ({ scope }) => foreignText(scope) },
      timeColumn("Started", ({ createdAt }) => createdAt),
      timeColumn("Expires if unused", ({ expiresAt }) => expiresAt),
      lastColumn("end-grant", "Revoke", (grant) => `access of ${foreignText(grant.clientName)}`),
    ],
    empty: emptyState("No authorized applications", "Applications appear here once the user authorizes them."),
  },
  ofUser: { heading: "Authorized applications", order: 2 },
  own: {
    heading: "Applications acting for you",
    icon: "clients",
    order: 1,
    isShownEmpty: () => true,
    empty: html`No application has access. Applications appear here once you allow them.`,
    row(grant) {
      const { clientId, audience, assertedBy, createdAt } = grant;
      const name = visibleText(grant.clientName);
      return {
        name,
        text: html`${isClientIdUrl(clientId) ? html`Verified by ${new URL(clientId).host}` : html`Unverified name`} ·
          <code>${audience}</code>, since
          ${dateOf(createdAt)}${
            assertedBy &&
            html` by your company's identity provider <code>${assertedBy.issuer}</code>, without asking you`
          }.
          Access ends ${endOf(grant)}.`,
        end: { button: "End access", of: `of ${name}` },
      };
    },
  },
  idOf: ({ id }) => id,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("grant:"),
  page: ({ store }, { filters, ...page }) =>
    pageGrants(store, { userId: filters.get("user"), clientId: filters.get("client_id") }, page),
  find: ({ store }, id) => findActiveGrant(store, id),
  actions: [
    ending("end-grant", {
      title: "Revoke access",
      effect:
        "Revokes the client's tokens within 2 seconds and deletes the remembered consent. The client must ask the user again.",
      target: ({ id, userId }) => `grant ${id} of ${userId}`,
      before: async ({ store }, { id }) => digestOf((await findGrant(store, id))?.value ?? {}),
      end: (deps, { id, userId }, { isOwn }) =>
        endAccess(deps, id, isOwn ? "ended by the user" : "revoked by an administrator", userId),
    }),
  ],
};

function endOf({ expiresAt, endsAt }: ActiveGrant): Html {
  if (endsAt === undefined) return html`${dateOf(expiresAt)}, unless it is used before then`;
  if (endsAt <= expiresAt) return dateOf(endsAt);
  return html`${dateOf(expiresAt)}, unless it is used before then, and ${dateOf(endsAt)} at the latest`;
}

function dateOf(epochSeconds: number): Html {
  return time(new Date(epochSeconds * 1000));
}
