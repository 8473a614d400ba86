/** Users that a company's directory has provisioned. The directory changes them, administrators only view them. */
import { isActive } from "../../directories/people.ts";
import { type ResourceRecord, resourcePrefix } from "../../directories/records.ts";
import { badge, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { pageOf } from "../../store/page-of.ts";
import type { StoredRecord } from "../../store/store.ts";
import { textField, timeColumn, timeField, type KindDeps, type OwnScreen, type ShownKind } from "../kind.ts";

type DirectoryUser = StoredRecord<ResourceRecord>;

const PREFIX = "directory-user:";

const idOf = ({ key }: DirectoryUser): string => key.slice(PREFIX.length);
const directoryOf = (user: DirectoryUser): string => idOf(user).split(":", 1)[0] ?? "";
const changedAt = ({ value }: DirectoryUser): number => Math.floor(value.changedAt / 1000);

function attribute({ value }: DirectoryUser, name: string): string {
  const text = value.attributes[name];
  return typeof text === "string" ? text : "";
}

export const DIRECTORY_USER: ShownKind<DirectoryUser, Pick<KindDeps, "store">> & { readonly screen: OwnScreen } = {
  name: "directory-user",
  plural: "directory-users",
  command: "directory-users list",
  doc: "Users that a company's directory has provisioned",
  none: "no user is provisioned by a directory",
  fields: [
    textField("id", "Name of the directory, and the user's ID there", idOf),
    textField("directory", "Name of the directory", directoryOf),
    textField("name", "User name in the directory", (user) => attribute(user, "userName")),
    textField("external", "External ID", (user) => attribute(user, "externalId")),
    textField(
      "active",
      "Whether the directory calls the user active",
      ({ value }) => (isActive(value.attributes) ? "yes" : "no"),
      ["yes", "no"],
    ),
    timeField("changed", "Time of the last change", changedAt),
  ],
  filters: ["directory"],
  table: {
    id: "directory-users",
    caption: (rows, isCut) => `Directory users, by directory and ID (${rows}${isCut ? " of more" : ""})`,
    columns: [
      { name: "Name", isHead: true, cell: (user) => html`<bdi>${foreignText(attribute(user, "userName"))}</bdi>` },
      { name: "Directory", kind: "short", cell: directoryOf },
      { name: "External ID", cell: (user) => html`<bdi>${foreignText(attribute(user, "externalId"))}</bdi>` },
      {
        name: "State",
        kind: "short",
        cell: ({ value }) => (isActive(value.attributes) ? badge("quiet", "active") : badge("warn", "not active")),
      },
      timeColumn("Changed", changedAt),
    ],
    empty: emptyState("No directory users", "Users appear here once a directory provisions them by SCIM."),
  },
  screen: {
    name: "Directory users",
    group: "Access",
    icon: "people",
    isUnowned: true,
    filter: { search: "Search name, external ID, directory" },
    emptyFiltered: emptyState("No matching users", "Change the search."),
    more: "There are more users. Use the filter.",
  },
  idOf,
  userOf: () => undefined,
  ownerOf: () => undefined,
  texts: (user) => [attribute(user, "userName"), attribute(user, "externalId"), directoryOf(user)],
  isPlace: (after) => after.startsWith(PREFIX),
  page({ store }, { filters, ...page }) {
    const directory = filters.get("directory");
    const prefix = directory === undefined ? PREFIX : resourcePrefix("user", directory);
    return pageOf<ResourceRecord, DirectoryUser>(store, { prefix }, page, (record) => record);
  },
  find: ({ store }, id) => store.get<ResourceRecord>(PREFIX + id),
  actions: [],
};
