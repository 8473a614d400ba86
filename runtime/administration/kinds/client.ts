/** OAuth clients: registered by an administrator or by the client, or identified by a document. */
import { isClientIdUrl } from "../../oauth/server/clients/client-document.ts";
import { endClient, pageClients } from "../../oauth/server/clients/pre-registered.ts";
import { clientKey, type ClientRecord } from "../../oauth/server/grant-records.ts";
import { pageGrants, type ActiveGrant } from "../../oauth/server/list-access.ts";
import { badge, consoleTime, emptyState } from "../../pages/console/pieces.ts";
import { clientName } from "../../pages/console/people/person.ts";
import { html } from "../../pages/html.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import type { StoredRecord } from "../../store/store.ts";
import { textField, timeField, type KindDeps, type Seen, type ShownKind } from "../kind.ts";
import { ending } from "../ending.ts";

export interface Client {
  readonly id: string;
  /** Absent: it is identified by its own document. */
  readonly record?: StoredRecord<ClientRecord> | undefined;
  /** For a client without a record: one of its grants. */
  readonly grant?: ActiveGrant | undefined;
}

export interface SeenOfClients extends Pick<Seen, "emails"> {
  clientHref(clientId: string): string;
  vouchedBy(client: Client): string | undefined;
  isBlocked(clientId: string): boolean;
  /** "3", "20 or more", by client ID. */
  readonly grants: ReadonlyMap<string, string>;
}

export const toClient = (record: StoredRecord<ClientRecord>): Client => ({
  id: record.key.slice(clientKey("").length),
  record,
});

const AS_DOCUMENT = "from its client document";
const SHOWN_REDIRECTS = 5;

export const CLIENT: ShownKind<Client, Pick<KindDeps, "store" | "revocations">, SeenOfClients> = {
  name: "client",
  plural: "clients",
  command: "client list",
  doc: "OAuth clients that are registered here",
  none: "no client is registered",
  fields: [
    textField("client_id", "ID of the client", ({ id }) => id),
    textField("name", "Name, as the client calls itself", (client) => nameOf(client)),
    textField("issuer", "MCP host that it is for", ({ record }) => record?.value.issuer),
    textField(
      "made_by",
      "Who registered it",
      ({ record }) => record && (record.value.preRegistered === true ? "administrator" : "itself"),
      ["administrator", "itself"],
    ),
    textField("grants", "Grant types that it can use, separated by blanks", ({ record }) =>
      record?.value.metadata.grant_types.join(" "),
    ),
    timeField("made", "Time of the registration", ({ record }) => record?.value.issuedAt),
    timeField("ends", "End of the registration", ({ record }) => record?.expiresAt ?? ""),
  ],
  filters: [],
  table: {
    id: "clients",
    caption: () => "OAuth clients, by ID. Unverified names are self-reported",
    columns: [
      {
        name: "Client",
        isHead: true,
        kind: "wide",
        cell(client, seen) {
          const { id } = client;
          const name = clientName(
            foreignText(nameOf(client) ?? "Unnamed"),
            seen.clientHref(id),
            seen.vouchedBy(client),
          );
          return html`${name}${seen.isBlocked(id) && html` ${badge("bad", "blocked")}`}<br /><code
              >${foreignText(id)}</code
            >`;
        },
      },
      {
        name: "Issuer",
        kind: "wide",
        isExtra: true,
        cell: ({ record }) => html`<span class="address">${record && foreignText(record.value.issuer)}</span>`,
      },
      {
        name: "Redirect hosts",
        kind: "wide",
        cell: ({ record }) =>
          html`<span class="address"
            >${record ? redirectsText(record.value.metadata.redirect_uris) : AS_DOCUMENT}</span
          >`,
      },
      {
        name: "Grant types",
        cell: ({ record }) => (record ? foreignText(grantTypesText(record.value)) : AS_DOCUMENT),
      },
      { name: "Grants", kind: "number", cell: ({ id }, { grants }) => grants.get(id) },
      {
        name: "Registered",
        kind: "short",
        cell: ({ record, grant }) => consoleTime((record?.value.issuedAt ?? grant?.createdAt ?? 0) * 1000, "minute"),
      },
      {
        name: "Last used",
        kind: "short",
        cell: ({ record }) =>
          record?.value.usedAt === undefined ? "" : consoleTime(record.value.usedAt * 1000, "minute"),
      },
    ],
    empty: emptyState(
      "No registered clients",
      "Clients appear here once they register, or an administrator creates them. Search by the whole URL for clients identified by a document.",
    ),
  },
  idOf: ({ id }) => id,
  userOf: () => undefined,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith(clientKey("")),
  async page({ store }, { after, limit }) {
    const { found, next } = await pageClients(store, { after, limit });
    return { found: found.map(toClient), ...(next !== undefined && { next }) };
  },
  async find({ store }, id) {
    const record = await store.get<ClientRecord>(clientKey(id));
    const [grant] = record ? [] : (await pageGrants(store, { clientId: id }, { limit: 1 })).found;
    return record || grant ? { id, record, grant } : undefined;
  },
  actions: [
    ending("end-client", {
      title: "Delete client",
      effect:
        "Deletes the registration and revokes its grants within 2 seconds. To prevent a new registration, block the client.",
      target: ({ id }) => `client ${id}`,
      details: (client) => `called ${JSON.stringify(nameOf(client) ?? "")}`,
      before: (_, { record, grant }) => (record || grant ? digestOf(record?.value ?? grant) : undefined),
      // A client with a metadata document has no record here: only its grants are revoked.
      end: async (deps, { id }) => (await endClient(deps, id)) || isClientIdUrl(id),
    }),
  ],
};

function nameOf({ record, grant }: Client): string | undefined {
  return record ? record.value.metadata.client_name : grant?.clientName;
}

/** Hosts, or schemes for addresses without one. */
function redirectsText(uris: readonly string[]): string {
  const hosts = uris.map((uri) => {
    if (!URL.canParse(uri)) return uri;
    const { host, protocol } = new URL(uri);
    const isWeb = protocol === "https:" || protocol === "http:";
    return isWeb ? host : `${protocol}//${host}`;
  });
  const unique = [...new Set(hosts)];
  const shown = unique.slice(0, SHOWN_REDIRECTS).map((host) => foreignText(host, 80));
  return unique.length > shown.length
    ? `${shown.join(", ")} and ${unique.length - shown.length} more`
    : shown.join(", ");
}

const GRANT_TYPES: Readonly<Record<string, string>> = {
  authorization_code: "authorization code",
  refresh_token: "refresh token",
  client_credentials: "client credentials",
  "urn:ietf:params:oauth:grant-type:jwt-bearer": "JWT bearer",
};

export function grantTypesText({ metadata }: Pick<ClientRecord, "metadata">): string {
  return metadata.grant_types
    .map((type) => (Object.hasOwn(GRANT_TYPES, type) ? (GRANT_TYPES[type] ?? type) : type))
    .join(", ");
}
