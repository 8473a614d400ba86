/** Time ranges of charts, as addresses and pages name them. */
import { TIERS, type Tier } from "../../health/tiers.ts";
import { segments } from "../../pages/console/pieces.ts";
import type { Html } from "../../pages/html.ts";
import { addressOfList } from "../addresses.ts";
import type { ConsoleRequest } from "../screen.ts";

/** merged: how many steps are one column, so that the page stays small. */
export const RANGES = {
  "1h": { name: "1 hour", step: "per minute", merged: 1 },
  "6h": { name: "6 hours", step: "per 5 minutes", merged: 1 },
  "48h": { name: "2 days", step: "per hour", merged: 2 },
} as const satisfies Readonly<Record<Tier["name"], { name: string; step: string; merged: number }>>;

/** @param usual without a range in the address */
export function tierOf({ query }: Pick<ConsoleRequest, "query">, usual: Tier): Tier {
  return TIERS.find(({ name }) => name === query.get("range")) ?? usual;
}

/** Links to the same page with each range. @param others further parameters to keep */
export function rangeLinks(
  page: string,
  current: Tier,
  usual: Tier,
  others: Readonly<Record<string, string | undefined>> = {},
): Html {
  const links = TIERS.map((tier) => ({
    href: addressOfList(page, { range: tier === usual ? undefined : tier.name, ...others }),
    name: RANGES[tier.name].name,
    isCurrent: tier === current,
  }));
  return segments("Time range", links);
}
