/** The lists of clients and machines, as links between them. */
import type { Tab } from "../../pages/console/pieces.ts";
import { addressOfList } from "../addresses.ts";

const LISTS = [
  ["clients", "", "Clients"],
  ["accounts", "/accounts", "Service accounts"],
  ["tokens", "/tokens", "Publish tokens"],
  ["devices", "/devices", "Devices"],
] as const;

export function clientTabs(current: (typeof LISTS)[number][0]): readonly Tab[] {
  return LISTS.map(([id, path, name]) => ({ href: addressOfList(`clients${path}`), name, isCurrent: id === current }));
}
