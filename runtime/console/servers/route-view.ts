/** All that the page of one route shows. What a source cannot tell at the moment leaves the rest as it is. */
import { stringify } from "yaml";

import type { CompiledRoute } from "../../config/compiled.ts";
import { clientRecipes } from "../../features/mcp/known-clients.ts";
import { keyLabel, kindOfKey, nameOfKey } from "../../features/mcp/locked-items.ts";
import { knownTools } from "../../mcp/listed-tools.ts";
import { toolLockOf } from "../../mcp/tool-locks/tool-locks.ts";
import type {
  LockView,
  HeaderLine,
  ReachRow,
  RouteParts,
  RouteView,
  UsersPart,
  RouteRuleView,
  ToolRow,
} from "../../pages/console/servers/route-view.ts";
import { describeBlock } from "../../policy/blocks.ts";
import { policyWords, type Rules, type RuleWords } from "../../policy/words/policy-words.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { headerLines } from "./header-lines.ts";
import { peopleRows, subjectRows } from "./reach-view.ts";
import { DAY, readFigures } from "./route-figures.ts";
import { addressOf, kindOf, kindText, routeFacts } from "./route-words.ts";
import { trafficPart } from "./traffic-view.ts";
import { readMatrixQuery, toolMatrix, type ToolDifferences } from "./tool-matrix.ts";
import type { ServersDeps } from "./deps.ts";

const MAX_TOOLS = 200;
/** Sentences, patterns, values of headers. */
const LONG = 1000;
const MAX_POLICY_LINES = 500;

export async function routeView(deps: ServersDeps, visit: ConsoleRequest, route: CompiledRoute): Promise<RouteView> {
  const tab = tabOf(visit, route);
  const block = deps.blocks.find({ routeKey: route.key });
  return {
    name: showUntrusted(route.name),
    address: showUntrusted(addressOf(route), LONG),
    kind: kindText(kindOf(route)),
    isServer: route.mcp?.kind === "server",
    owner: showUntrusted(route.owner),
    description: showUntrusted(route.about.description ?? "", LONG),
    block: block && blockText(describeBlock(block)),
    list: addressOfList("servers"),
    tabs: tabsOf(route).map(([name, text]) => ({
      href: addressOfId("servers", route.key, name === "" ? {} : { tab: name }),
      name: text,
      isCurrent: name === tab,
    })),
    ...(await partsOf(deps, visit, route, tab)),
  };
}

type TabName = "" | "users" | "traffic" | "connect" | "configuration";

function tabsOf({ mcp }: CompiledRoute): readonly (readonly [name: TabName, text: string])[] {
  const isServer = mcp?.kind === "server";
  return [
    ["", isServer ? "Tools and access" : "Access"],
    ["users", "Users"],
    ["traffic", "Traffic"],
    ...(isServer ? [["connect", "Connect a client"] as const] : []),
    ["configuration", "Configuration"],
  ];
}

function tabOf({ query }: ConsoleRequest, route: CompiledRoute): TabName {
  // Pages of users had no tab once.
  if (query.has("people")) return "users";
  return tabsOf(route).find(([name]) => name === query.get("tab"))?.[0] ?? "";
}

/** Content of the open tab; nothing else is read. */
async function partsOf(
  deps: ServersDeps,
  visit: ConsoleRequest,
  route: CompiledRoute,
  tab: TabName,
): Promise<RouteParts> {
  const { snapshot } = visit;
  const lock = toolLockOf(route);
  const locked = lock ? [...lock.items.keys()] : [];
  switch (tab) {
    case "": {
      const isServer = route.mcp?.kind === "server";
      return {
        access: {
          figures: await readFigures(deps.records, visit, { route: route.key }, DAY),
          matrix: isServer
            ? toolMatrix(
                route,
                knownTools(route, deps.listedTools),
                lock && differencesOf(deps, route),
                readMatrixQuery(visit.query),
              )
            : undefined,
          rules: policyWords(route.policy).map(ruleView),
          trials: (route.shadow?.candidates ?? []).map(({ name, kind, policy }) => ({
            name,
            rules: policyWords(kind === "rule" ? withoutRules(policy, route.policy) : policy).map(ruleView),
          })),
          tools: lock && toolsOf(deps, route, locked, lock.onDrift),
        },
      };
    }
    case "users": {
      const tools = knownTools(route, deps.listedTools);
      const { rows, omitted } = subjectRows(route, tools);
      return {
        users: {
          subjects: { rows: rows.map(shownReach), omitted },
          people: await peopleOf(deps, visit, route, tools),
        },
      };
    }
    case "traffic":
      return { traffic: await trafficPart(deps, visit, route) };
    case "connect": {
      const resource = route.mcp?.kind === "server" ? route.mcp.resource : undefined;
      const { mcpAllowedClientIdDomains: domains } = snapshot.settings;
      return { recipes: resource === undefined ? [] : clientRecipes(route.name, resource, domains) };
    }
    case "configuration": {
      const headers = headerLines(route, snapshot.settings);
      return {
        configuration: {
          key: showUntrusted(route.key),
          facts: [...routeFacts(route), ...toolNotes(deps, route)].map(([label, text]) => [
            showUntrusted(label),
            showUntrusted(text, LONG),
          ]),
          written: writtenPolicy(route),
          request: headers.request.map(shownHeader),
          response: headers.response.map(shownHeader),
        },
      };
    }
  }
  return tab satisfies never;
}

/** Names of tools that differ from the lock. */
function differencesOf({ toolLocks }: ServersDeps, route: CompiledRoute): ToolDifferences {
  const { changed, unlocked } = toolLocks.differences(route);
  const names = (keys: Iterable<string>) =>
    new Set([...keys].filter((key) => kindOfKey(key) === "tool").map((key) => nameOfKey(key)));
  return { changed: names(changed), unlocked: names(unlocked) };
}

/** YAML, in which only ends of lines have no look of their own. */
function writtenPolicy({ policy }: CompiledRoute): string {
  const lines = stringify(policy.doc, { lineWidth: 0 }).trimEnd().split("\n");
  const shown = lines.slice(0, MAX_POLICY_LINES).map((line) => showUntrusted(line, LONG));
  return [...shown, ...(lines.length > shown.length ? [`… (${lines.length - shown.length} more lines)`] : [])].join(
    "\n",
  );
}

function ruleView({ action, lead, clauses }: RuleWords): RouteRuleView {
  return { action, lead: showUntrusted(lead, LONG), clauses: clauses.map((clause) => showUntrusted(clause, LONG)) };
}

/** A shadow rule is evaluated with all active rules: this is what it adds. */
function withoutRules(policy: Rules, enforced: Rules): Rules {
  const spell = (rule: Rules["approve"][number]): string =>
    JSON.stringify([rule.operator, rule.leaves.map(({ key, data }) => [key, data]), rule.approvers ?? null]);
  const rest = <T extends Rules["approve"][number]>(some: readonly T[], known: readonly T[]): readonly T[] => {
    const left = new Map<string, number>();
    for (const rule of known) left.set(spell(rule), (left.get(spell(rule)) ?? 0) + 1);
    return some.filter((rule) => {
      const text = spell(rule);
      const times = left.get(text) ?? 0;
      left.set(text, times - 1);
      return times <= 0;
    });
  };
  return {
    allow: rest(asApprove(policy.allow), asApprove(enforced.allow)),
    deny: rest(asApprove(policy.deny), asApprove(enforced.deny)),
    approve: rest(policy.approve, enforced.approve),
  };
}

function asApprove(rules: Rules["allow"]): Rules["approve"] {
  return rules.map((rule) => ({ approvers: undefined, ...rule }));
}

function blockText({ reason, since, until, by }: ReturnType<typeof describeBlock>): string {
  const end = until === "" ? "until that is lifted" : `until ${until}`;
  return showUntrusted(`Since ${since}, ${end}, by ${by}${reason === "" ? "" : `: ${reason}`}`, LONG);
}

function shownReach<T extends ReachRow>(row: T): T {
  return {
    ...row,
    who: showUntrusted(row.who),
    why: showUntrusted(row.why, LONG),
    ...(row.tools === undefined ? {} : { tools: showUntrusted(row.tools, LONG) }),
  };
}

function shownHeader({ name, how, value }: HeaderLine): HeaderLine {
  return { name: showUntrusted(name), how, value: showUntrusted(value, LONG) };
}

async function peopleOf(
  deps: ServersDeps,
  { snapshot, rights, query }: ConsoleRequest,
  route: CompiledRoute,
  tools: readonly string[],
): Promise<UsersPart["people"]> {
  // Users belong to no owner: a role for one owner's routes does not show users.
  if (!rights.may("viewer")) return undefined;
  const after = placeIn("identity:", query.get("people"));
  try {
    const { found, next } = await peopleRows(deps, route, snapshot.settings, { tools, after });
    return {
      rows: found.map((row) => ({ ...shownReach(row), href: addressOfId("people", row.userId) })),
      pages: {
        first: after === undefined ? undefined : addressOfId("servers", route.key),
        next: next === undefined ? undefined : addressOfId("servers", route.key, { people: next }),
      },
    };
  } catch {
    return "failed";
  }
}

/** Tools of the server that its rules do not decide as their authors may expect. */
function toolNotes({ listedTools }: ServersDeps, { key }: CompiledRoute): readonly (readonly [string, string])[] {
  const { unclear = [], uncovered = [] } = listedTools?.notesOf(key) ?? {};
  return [
    ...(unclear.length === 0 ? [] : [["Hidden tools with unclear names", unclear.join(", ")] as const]),
    ...uncovered.map(({ tool, rule }) => ["Tool not covered by a rule", `${tool}, by the rule about ${rule}`] as const),
  ];
}

const ON_DRIFT = {
  warn: "recorded, calls allowed",
  hide: "hidden, calls denied",
  deny: "listed, calls denied",
} as const;

function toolsOf(
  { toolLocks }: ServersDeps,
  route: CompiledRoute,
  locked: readonly string[],
  onDrift: keyof typeof ON_DRIFT,
): LockView | undefined {
  const { changed, unlocked } = toolLocks.differences(route);
  const rows: ToolRow[] = [
    ...[...changed].map((name) => ({ name, state: "changed" as const })),
    ...[...unlocked].map((name) => ({ name, state: "unlocked" as const })),
    ...locked.filter((key) => !changed.has(key)).map((name) => ({ name, state: "reviewed" as const })),
  ];
  return {
    rows: rows.slice(0, MAX_TOOLS).map(({ name, state }) => ({ name: showUntrusted(keyLabel(name)), state })),
    onDrift: ON_DRIFT[onDrift],
    omitted: Math.max(0, rows.length - MAX_TOOLS),
  };
}
