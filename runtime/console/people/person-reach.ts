/** Reach of one user over all routes, each with the rule that lets the user in. Decided by the policy's own code. */
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { toUser } from "../../identity/claims-record.ts";
import type { IdentityRecord } from "../../identity/identity-records.ts";
import { knownTools } from "../../mcp/listed-tools.ts";
import type { PersonReach } from "../../pages/console/people/person.ts";
import { findReach, toolReachFinder } from "../../policy/reach.ts";
import { ruleSentence, ruleWords } from "../../policy/words/policy-words.ts";
import { addressOfId } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { PeopleDeps } from "./deps.ts";

const MOST_SHOWN = 50;
/** Per server. */
const MAX_TOOLS = 100;
const LONG = 500;

/** @param record undefined: the user's attributes are no longer stored */
export function personReach(
  { blocks, listedTools }: Pick<PeopleDeps, "blocks" | "listedTools">,
  { routes, settings }: { readonly routes: readonly CompiledRoute[]; readonly settings: LiveSettings },
  record: IdentityRecord | undefined,
): PersonReach | undefined {
  if (!record) return undefined;
  const user = toUser(record, settings);
  const found = routes.flatMap((route) => {
    const isServer = route.mcp?.kind === "server";
    if (blocks.find({ user, routeKey: route.key })) return [];
    const { may, by } = findReach(route.policy, user, !isServer);
    return may === "none" ? [] : [{ route, isServer, by }];
  });
  return {
    rows: found.slice(0, MOST_SHOWN).map(({ route, isServer, by }) => ({
      href: addressOfId("servers", route.key),
      name: showUntrusted(route.name),
      what: isServer ? toolsText(route, user, knownTools(route, listedTools)) : "Web app",
      why: by ? showUntrusted(ruleSentence(ruleWords(by.action, by.rule)), LONG) : "",
    })),
    more: Math.max(0, found.length - MOST_SHOWN),
    others: routes.length - found.length,
  };
}

function toolsText(route: CompiledRoute, user: ReturnType<typeof toUser>, tools: readonly string[]): string {
  const find = toolReachFinder(route.policy, user);
  const asked = tools.slice(0, MAX_TOOLS).map((name) => find(name).outcome);
  if (asked.length === 0) return "MCP server";
  const can = asked.filter((outcome) => outcome === "allowed" || outcome === "approval").length;
  const approval = asked.filter((outcome) => outcome === "approval").length;
  return `${can} of ${asked.length} tools${approval > 0 ? `, ${approval} with approval` : ""}`;
}
