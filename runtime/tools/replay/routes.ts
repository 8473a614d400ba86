/**
 * The routes of a configuration as matched by recorded requests, with their policies; each is compiled on first use.
 */
import type { Vocabulary } from "../../audit/replay/vocabulary.ts";
import type { CheckedConfig, CheckedRoute } from "../../config/load.ts";
import type { RecordedCheck } from "../../audit/replay/read-record.ts";
import { compileMembers, isFederated } from "../../features/mcp/members.ts";
import { matchesOwner } from "../../features/process/owners.ts";
import { readAdvertised, readAppUri } from "../../mcp/federation/names.ts";
import { compileHistoryRules, criteriaOfHistory } from "../../features/mcp/compile-history.ts";
import { buildHostIndex } from "../../features/routing/apply-find-route.ts";
import { baseOf, compileMatch } from "../../features/routing/compile.ts";
import type { RoutedRoute } from "../../features/routing/compiled.ts";
import { compileConditions, exampleRequest } from "../../features/routing/conditions.ts";
import { parseFrom } from "../../features/routing/from.ts";
import { writtenClasses } from "../../features/mcp/tool-lock.ts";
import { bindToolClasses } from "../../policy/bind-tool-classes.ts";
import { routePolicy } from "../../policy/access-keys.ts";
import { compilePolicy, type CompiledPolicy } from "../../policy/evaluate.ts";
import {
  forRecords,
  needsOfAll,
  type RecordedPolicy,
  type RecordNeeds,
} from "../../policy/recorded/decide-recorded.ts";
import { compileShadow } from "../../policy/shadow.ts";
import { routeHistory } from "../../limits/history/plan.ts";
import { accepted } from "../../settings/values.ts";
import { needsOfRules, RecordHistory } from "./record-history.ts";

export interface ReplayRoute {
  readonly key: string;
  readonly isMcpServer: boolean;
  /** An MCP route, while the configuration has MCP turned off. */
  readonly isOff: boolean;
  readonly policy: RecordedPolicy;
  readonly candidates: readonly ReplayCandidate[];
  /** Its rules over earlier calls. */
  readonly history: RecordHistory | undefined;
  /** Combined needs of all policies. */
  readonly needs: RecordNeeds;
}

export interface ReplayCandidate {
  /** As in records: "shadow_policy", "policy[2]". */
  readonly name: string;
  readonly policy: RecordedPolicy;
}

export type FoundReplayRoute =
  | { readonly ok: true; readonly route: ReplayRoute; readonly otherPaths: readonly string[] | undefined }
  | { readonly ok: false; readonly reason: string };

export interface ReplayRoutes {
  /** @param recorded key of the route that took the request, whose conditions it is assumed to meet still */
  find(host: string, path: string, recorded: string): FoundReplayRoute;
  /**
   * The member that serves such a request of a federated route now, wherever its own address is.
   *
   * @param recorded key of the recorded member, which some records lack, and its address then
   * @returns undefined if there is no such federated route
   */
  findMember(
    federated: NonNullable<RecordedCheck["federated"]>,
    recorded: { readonly route: string; readonly host: string; readonly path: string },
  ): FoundReplayRoute | undefined;
}

interface Written extends RoutedRoute {
  readonly checked: CheckedRoute;
}

/** @param vocabulary learns the values and names in the policies */
export function createReplayRoutes({ routes, settings }: CheckedConfig, vocabulary: Vocabulary): ReplayRoutes {
  const isMcpOff = settings.runtime_flags?.mcp !== true;
  const written = routes.map((checked) => writtenRoute(checked));
  const conditional = new Map(
    written.flatMap(({ checked, conditions }) => (conditions ? [[checked.key, exampleRequest(conditions)]] : [])),
  );
  const compiled = new Map<CheckedRoute, ReplayRoute>();
  const compile = (checked: CheckedRoute): ReplayRoute => {
    const route = compiled.get(checked) ?? compileReplayRoute(checked, isMcpOff, vocabulary);
    compiled.set(checked, route);
    return route;
  };
  const byKey = new Map(routes.map((route) => [route.key, route]));
  const federations = new Map(
    routes.flatMap((federated) => {
      const { key, owner, doc } = federated;
      const members = doc.mcp?.server && compileMembers(doc.mcp.server, owner);
      return members ? [[key, { federated, members }] as const] : [];
    }),
  );
  const hosts = buildHostIndex<Written, ReplayRoute>({
    routes: written,
    authenticateUrl: settings.authenticate_service_url,
    prepare: ({ checked }) => compile(checked),
  });
  const find: ReplayRoutes["find"] = (host, path, recorded) => {
    const found = hosts.findHost(host)?.findRoute(path, conditional.get(recorded)) ?? {
      ok: false,
      reason: "no-route",
    };
    return found.ok ? { ok: true, route: found.prepared, otherPaths: found.otherPaths } : found;
  };
  return {
    find,
    findMember({ route: key, name }, { route: recorded, host, path }) {
      const federation = federations.get(key);
      if (!federation) return undefined;
      const { federated, members } = federation;
      const prefix = (readAdvertised(name) ?? readAppUri(name))?.prefix;
      // Lists and most URIs name no member.
      const own = (): string | undefined => {
        const found = recorded === "" ? find(host, path, recorded) : undefined;
        const ownKey = found?.ok === true ? found.route.key : recorded;
        return [...members.values()].find((each) => each === ownKey);
      };
      const now = prefix === undefined ? own() : members.get(prefix);
      const checked = now === undefined ? undefined : byKey.get(now);
      if (!checked || !isOpenTo(checked, federated)) return { ok: false, reason: "no-member" };
      return { ok: true, route: compile(checked), otherPaths: undefined };
    },
  };
}

/** As `reaches` decides of compiled routes. */
function isOpenTo({ doc, limitedTo: other }: CheckedRoute, { limitedTo }: CheckedRoute): boolean {
  if (doc.mcp?.server === undefined || isFederated(doc.mcp.server)) return false;
  if (limitedTo === undefined || limitedTo === other) return true;
  return doc.mcp.server.allowed_applications?.some((each) => matchesOwner(each, limitedTo)) === true;
}

function writtenRoute(checked: CheckedRoute): Written {
  const { origin, host, hostname, isWildcard } = accepted(parseFrom(checked.doc.from));
  const match = compileMatch(checked.doc);
  // The rewritten path and the upstream do not affect decisions.
  const conditions = compileConditions(checked.doc);
  const rest = { conditions, base: baseOf(match), rewrite: undefined, answer: undefined };
  return { origin, host, hostname, isWildcard, match, ...rest, checked };
}

function compileReplayRoute({ key, doc }: CheckedRoute, isMcpOff: boolean, vocabulary: Vocabulary): ReplayRoute {
  const recorded = (policy: CompiledPolicy): RecordedPolicy => {
    vocabulary.learn(policy);
    return forRecords(policy);
  };
  const classes = writtenClasses(doc.mcp?.server?.tool_lock);
  const policy = recorded(bindToolClasses(compilePolicy(routePolicy(doc)), classes));
  const candidates = (compileShadow(doc, classes)?.candidates ?? []).map((each) => ({
    name: each.name,
    policy: recorded(each.policy),
  }));
  const rules = compileHistoryRules(doc.mcp?.server?.history_rules, classes);
  const criteria = criteriaOfHistory(rules).map(recorded);
  const { readsArguments, names } = needsOfRules(rules ?? []);
  vocabulary.learnNames(names);
  const route = routeHistory(key, rules);
  const all = [policy, ...candidates.map((each) => each.policy), ...criteria].map(({ needs }) => needs);
  return {
    key,
    isMcpServer: doc.mcp?.server !== undefined,
    isOff: doc.mcp !== undefined && isMcpOff,
    policy,
    candidates,
    history: route && new RecordHistory(route, criteria),
    needs: needsOfAll(readsArguments ? [...all, { claims: new Set(), argumentsOf: () => true }] : all),
  };
}
