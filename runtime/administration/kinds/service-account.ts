/** Service accounts: users for workloads, created by administrators. */
import type { ServiceAccountRecord } from "../../identity/identity-records.ts";
import { createRecords } from "../../identity/identity-records.ts";
import { endServiceAccount, pageServiceAccounts } from "../../identity/tokens/service-accounts.ts";
import { consoleTime, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { serviceAccountUserId } from "../../shared/user-id.ts";
import type { StoredRecord } from "../../store/store.ts";
import { textField, timeField, lastColumn, type KindDeps, type Seen, type ShownKind, timeColumn } from "../kind.ts";
import { ending } from "../ending.ts";

type Account = StoredRecord<ServiceAccountRecord>;

const PREFIX = "service-account:";
const targetOf = ({ value }: Account): string => `service account ${value.name}`;

interface SeenInList extends Seen {
  readonly userHref: (userId: string) => string;
}

export const SERVICE_ACCOUNT: ShownKind<Account, Pick<KindDeps, "store" | "revocations">, SeenInList> = {
  name: "service-account",
  plural: "service-accounts",
  command: "service-account list",
  doc: "Service accounts",
  none: "no service account",
  fields: [
    textField("id", "ID of the account", ({ key }) => key.slice(PREFIX.length)),
    textField("name", "Name; its user is `service-account:<name>`", ({ value }) => value.name),
    textField("email", "Email address, for policies", ({ value }) => value.email),
    textField("groups", "Groups, separated by blanks", ({ value }) => value.groups.join(" ")),
    textField("good_for", "Address that its token is for, or its client", ({ value }) =>
      value.clientId === undefined ? value.audience : `client ${value.clientId}`,
    ),
    textField("owner", "Person or team responsible, as named at its creation", ({ value }) => value.owner),
    timeField("used", "Time of the last use, within 5 minutes", ({ value }) => value.usedAt),
    timeField("made", "Time of its creation", ({ value }) => value.createdAt),
    timeField("ends", "End of its token", ({ expiresAt }) => expiresAt ?? ""),
  ],
  filters: [],
  table: {
    id: "accounts",
    caption: () => "Service accounts",
    columns: [
      {
        name: "Name",
        isHead: true,
        cell: ({ value: { name } }, { userHref }) =>
          html`<a href="${userHref(serviceAccountUserId(name))}">${foreignText(name)}</a>`,
      },
      { name: "Owner", cell: ({ value: { owner } }) => owner !== undefined && foreignText(owner) },
      {
        name: "Last used",
        kind: "short",
        cell: ({ value: { usedAt } }) => (usedAt === undefined ? "Not used yet" : consoleTime(usedAt * 1000, "minute")),
      },
      { name: "Email", cell: ({ value }) => foreignText(value.email) },
      { name: "Groups", cell: ({ value }) => foreignText(value.groups.join(", ")) },
      {
        name: "Token audience",
        kind: "wide",
        cell: ({ value: { clientId, audience = "" } }) =>
          html`<span class="address"
            >${foreignText(clientId === undefined ? audience : `what client ${clientId} asks for`)}</span
          >`,
      },
      timeColumn("Created", ({ value }) => value.createdAt),
      {
        name: "Expires",
        kind: "short",
        cell: ({ expiresAt }) =>
          expiresAt === undefined ? "With its client" : consoleTime(expiresAt * 1000, "minute"),
      },
      lastColumn("end-account", "Delete", ({ value }) => `service account ${foreignText(value.name)}`),
    ],
    empty: emptyState("No service accounts", "`gateway service-account create` makes one."),
  },
  idOf: ({ key }) => key.slice(PREFIX.length),
  userOf: () => undefined,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith(PREFIX),
  page: ({ store }, { after, limit }) => pageServiceAccounts(store, { after, limit }),
  find: ({ store }, id) => createRecords(store).serviceAccounts.get(id),
  actions: [
    ending("end-account", {
      title: "Delete service account",
      effect: "Revokes its token within 2 seconds.",
      target: targetOf,
      details: ({ value }) => `in groups ${JSON.stringify(value.groups)}`,
      // As at its creation.
      before: (_, { value: { usedAt: _used, ...made } }) => digestOf(made),
      async end(deps, { key }) {
        await endServiceAccount(deps, key.slice(PREFIX.length));
        return true;
      },
    }),
  ],
};
