/** The most denied tools and users, out of stored records, and the slowest servers, from counts. */
import { quantileMs } from "../../health/histogram.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import { routeScope } from "../../health/rollup.ts";
import { shortMs } from "../../pages/console/charts/scale.ts";
import type { BarRow } from "../../pages/console/charts/figures.ts";
import type { TopsParts } from "../../pages/console/overview.ts";
import { html } from "../../pages/html.ts";
import type { Ranking } from "../../record-store/record-reader.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { reasonText } from "../decisions/reasons.ts";
import { countedSteps, total } from "../health/counted.ts";
import type { VisibleScope } from "../health/visible-scope.ts";
import { showUntrusted } from "../show-untrusted.ts";

export const MOST = 5;
const MAX_NAME = 80;

interface Denied {
  /** Undefined: no records are stored. */
  readonly ranking: Ranking | "failed" | undefined;
  /** Start of the shown time, for links. */
  readonly since: string;
}

const cut = (text: string): string => showUntrusted(text, MAX_NAME);

export function deniedTools({ ranking, since }: Denied): TopsParts {
  return {
    title: "Most denied tools",
    href: addressOfList("decisions", { outcome: "denied", since }),
    tone: "bad",
    ...deniedRows(ranking, ({ record: { tool = "", route = "" } }) => ({
      name: html`<code>${cut(tool)}</code> ${cut(route)}`,
      href: addressOfList("decisions", { tool, outcome: "denied", since }),
    })),
  };
}

export function deniedUsers({ ranking, since }: Denied): TopsParts {
  return {
    title: "Users with most denials",
    href: addressOfList("decisions", { outcome: "denied", since }),
    tone: "bad",
    ...deniedRows(ranking, ({ record: { email, userId } }) => {
      const user = email || userId;
      return {
        name: user === undefined ? "Not signed in" : cut(user),
        href: addressOfList("decisions", { user: userId, outcome: "denied", since }),
      };
    }),
  };
}

function deniedRows(
  ranking: Denied["ranking"],
  row: (of: Ranking["rows"][number]) => Pick<BarRow, "name" | "href">,
): Pick<TopsParts, "rows" | "empty" | "note"> {
  if (ranking === "failed") return { rows: "failed", empty: "" };
  if (ranking === undefined)
    return { rows: [], empty: "No record store configured. Set `record_store` in the main configuration file." };
  const rows = ranking.rows.map((of) => ({
    ...row(of),
    value: of.count,
    text: of.count.toLocaleString("en"),
    why: cut(reasonText(of.record)),
  }));
  const isPartial = ranking.countedSinceMs !== undefined;
  return { rows, empty: "No denied requests.", ...(isPartial && { note: "The newest denials of this time." }) };
}

export function slowestServers(steps: readonly TrafficStep[], scope: VisibleScope): TopsParts {
  const prefix = routeScope("");
  const names = new Set(steps.flatMap(({ rollup }) => Object.keys(rollup?.scopes ?? {})));
  const rows = [...names]
    .filter((name) => name.startsWith(prefix) && scope.maySeeRoute(name.slice(prefix.length)))
    .flatMap((name) => {
      const { sum } = total(countedSteps(steps, [name]));
      const ms = quantileMs(sum.durations, 0.99);
      return ms === undefined ? [] : [{ key: name.slice(prefix.length), ms }];
    })
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, MOST);
  return {
    title: "Slowest servers, p99",
    href: addressOfList("servers"),
    tone: "quiet",
    rows: rows.map(({ key, ms }) => ({
      name: cut(key),
      href: addressOfId("servers", key),
      value: ms,
      text: shortMs(ms),
    })),
    empty: "No responses in this time.",
  };
}
