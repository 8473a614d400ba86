/** Rules between the access settings of a route, and between them and its other settings. */
import { ACCESS_KEYS } from "../../policy/access-keys.ts";
import { hasCriteria, policyWarnings } from "../../policy/validate-rules.ts";
import {
  type PolicyAction,
  type ActionDoc,
  ACTIONS,
  isList,
  type Operator,
  OPERATORS,
  type PolicyDoc,
  type RulesDoc,
} from "../../policy/parse.ts";
import { warningAt, errorAt, parsePath, quote, type ValuePath, type Report } from "../../settings/problem.ts";
import type { AccessDoc } from "./settings.ts";
import { shadowRules } from "./shadow-rules.ts";

const LISTS = ["allowed_users", "allowed_domains", "allowed_idp_claims"] as const;
/** Each makes the narrower ones redundant. */
const WIDE = ["allow_public_unauthenticated_access", "allow_any_authenticated_user"] as const;

/** Settings without effect for callers of MCP routes, who present External Tokens. */
export const ACCESS_WITHOUT_MCP = [
  "bearer_token_format",
  "idp_access_token_allowed_audiences",
  "show_error_details",
] as const;

/**
 * @param wrote whether the document has a member, valid or not
 * @param mcp the route's MCP settings
 * @param lists of the same route, see `criteriaLists`
 */
export function accessRules(
  route: Partial<AccessDoc>,
  wrote: (name: keyof AccessDoc) => boolean,
  mcp: "server" | "client" | undefined,
  lists: readonly PlacedCriteria[],
  report: Report,
): void {
  if (!wrote("policy") && !ACCESS_KEYS.some((key) => wrote(key))) {
    report(warningAt([], 'has no "policy", so everything is denied'));
  }
  const [isPublic, isAnybody] = WIDE;
  if (route[isPublic] === true && route[isAnybody] === true)
    report(errorAt([isAnybody], `cannot be combined with "${isPublic}"`));
  for (const list of LISTS) {
    const values = route[list];
    if (values === undefined) continue;
    const wide = WIDE.find((each) => route[each] === true);
    if (wide !== undefined)
      report(errorAt([list], `cannot be combined with "${wide}", which allows these users anyway`));
    emptyList(list, values, report);
  }
  for (const name of ACCESS_WITHOUT_MCP) {
    const isOrdinary = name === "show_error_details" ? mcp !== "server" : mcp === undefined;
    if (!isOrdinary && wrote(name))
      report(errorAt([name], "is not allowed on an MCP route, whose callers present External Tokens"));
  }
  if (route.idp_access_token_allowed_audiences?.length === 0)
    report(errorAt(["idp_access_token_allowed_audiences"], "is an empty list, must have an audience or be removed"));
  policyWarningRules(route, report);
  criteriaOfOthers(route, lists, mcp === "server", report);
  approveRules(lists, mcp === "server", report);
  for (const list of lists) {
    if (list.criteria.length === 0 && hasCriteria(list.block))
      report(warningAt(pathOf(list), "is an empty list without effect: remove it"));
  }
  shadowRules(route, report);
}

/** @param policies policies by setting */
function policyWarningRules(policies: Policies, report: Report): void {
  for (const setting of ["policy", "shadow_policy"] as const) {
    const doc = policies[setting];
    for (const { path, message } of doc === undefined ? [] : policyWarnings(doc))
      report(warningAt([setting, ...parsePath(path)], message));
  }
}

function emptyList(
  name: string,
  values: readonly string[] | Readonly<Record<string, readonly string[]>>,
  report: Report,
): void {
  const message = "is empty and matches no user, must have at least one value or be removed";
  if (Object.keys(values).length === 0) report(errorAt([name], message));
  for (const [claim, of] of Object.entries(values) as (readonly [string, unknown])[]) {
    if (Array.isArray(of) && of.length === 0) report(errorAt([name, claim], message));
  }
}

/** Reports criteria that can never match on a route of this kind. */
function criteriaOfOthers(
  route: Partial<AccessDoc>,
  lists: readonly PlacedCriteria[],
  isMcpServer: boolean,
  report: Report,
): void {
  const isOfOthers = isMcpServer ? isOfBrowsers : isOfCalls;
  for (const { path, name, action } of criteriaIn(lists, isOfOthers)) {
    if (!isMcpServer) {
      const message = 'can never match: the route is not an MCP server route, must have "mcp.server"';
      // Under deny it is harmless if one policy serves both kinds of route.
      report(action === "allow" ? errorAt(path, message) : warningAt(path, message));
    }
    if (name === "device")
      report(warningAt(path, "is never known: clients of MCP servers cannot verify a device, and get 450"));
    if (name === "cors_preflight") {
      report(
        warningAt(path, "can never match: the gateway itself responds to preflight requests of MCP server routes"),
      );
    }
  }
  if (route.cors_allow_preflight === true && isMcpServer) {
    const message = "has no effect on an MCP server route: the gateway itself responds to preflight requests";
    report(warningAt(["cors_allow_preflight"], message));
  }
}

function isOfCalls(name: string): boolean {
  return name.startsWith("mcp_") || name.startsWith("actor");
}

function isOfBrowsers(name: string): boolean {
  return name === "device" || name === "cors_preflight";
}

const NO_CALLS: ReadonlySet<string> = new Set(["mcp_prompt", "mcp_resource", "mcp_skill", "mcp_method"]);

/** Approve rules apply only to tool calls: on other routes they would seem to protect something. */
function approveRules(lists: readonly PlacedCriteria[], isMcpServer: boolean, report: Report): void {
  if (!isMcpServer) {
    const first = approvePlace(lists);
    const message = 'requires approval of tool calls, but the route is not an MCP server route, must have "mcp.server"';
    if (first) report(errorAt(first, message));
    return;
  }
  for (const { path, action } of criteriaIn(lists, (name) => NO_CALLS.has(name))) {
    if (action === "approve")
      report(errorAt(path, "is not a criterion of tool calls, and only tool calls can be approved: remove it"));
  }
}

/** A federated route (`mcp.server.members`): one call would need two approvals. */
export function federatedApproveRule(lists: readonly PlacedCriteria[], report: Report): void {
  const first = approvePlace(lists);
  if (first) report(errorAt(first, 'is not allowed on a route with "members": write it on the members\' routes'));
}

/** Approvals are given on the host of sign-in pages, which has no application. */
export function approvalPageRules(
  lists: readonly PlacedCriteria[],
  authenticateUrl: string | undefined,
  report: Report,
): void {
  const first = approvePlace(lists);
  if (first && authenticateUrl === undefined)
    report(errorAt(first, 'requires "authenticate_service_url", whose host serves approvals'));
}

/** Path of the first block of approve rules. */
function approvePlace(lists: readonly PlacedCriteria[]): ValuePath | undefined {
  const first = lists.find(({ action }) => action === "approve");
  return first && pathOf(first).slice(0, -1);
}

/** Reports criteria that require a setting of the main configuration file. */
export function certificateRules(
  lists: readonly PlacedCriteria[],
  mtls: { readonly enforcement?: string } | undefined,
  report: Report,
): void {
  for (const { path, name } of criteriaIn(lists, isAboutCertificates)) {
    if (!mtls)
      report(
        errorAt(path, 'can never be evaluated: clients are not asked for a certificate, requires "downstream_mtls"'),
      );
    else if (name === "invalid_client_certificate" && mtls.enforcement !== "policy") {
      const enforcement = quote(mtls.enforcement ?? "policy_with_default_deny");
      report(
        warningAt(path, `never matches: "downstream_mtls.enforcement" ${enforcement} already rejects such requests`),
      );
    }
  }
}

function isAboutCertificates(name: string): boolean {
  return name === "client_certificate" || name === "invalid_client_certificate";
}

type Policies = Partial<Pick<AccessDoc, "policy" | "shadow_policy">>;

interface PlacedCriterion {
  readonly path: ValuePath;
  readonly name: string;
  readonly action: PolicyAction;
}

/**
 * Criteria with their path in the route. Usually few of thousands match: a path is built only for these.
 *
 * @param isMeant selects by name; default: all
 */
export function criteriaIn(
  lists: readonly PlacedCriteria[],
  isMeant: (name: string) => boolean = () => true,
): readonly PlacedCriterion[] {
  return lists.flatMap((list) => {
    if (!list.names.some(isMeant)) return [];
    return list.criteria.flatMap((criterion, position) => {
      const name = list.names[position] ?? "";
      const path = [...pathOf(list), position, keyOf(criterion)];
      return isMeant(name) ? [{ path, name, action: list.action }] : [];
    });
  });
}

export interface PlacedCriteria {
  readonly setting: keyof Policies;
  /** Index of the rule in the policy; absent if the policy is a single rule. */
  readonly index: number | undefined;
  readonly action: PolicyAction;
  readonly operator: Operator;
  readonly block: ActionDoc;
  readonly criteria: readonly object[];
  /** Names of the criteria, without the part after a slash. */
  readonly names: readonly string[];
}

function keyOf(criterion: object): string {
  return Object.keys(criterion)[0] ?? "";
}

function nameOf(criterion: object): string {
  const key = keyOf(criterion);
  const slash = key.indexOf("/");
  return slash === -1 ? key : key.slice(0, slash);
}

/** Path in the route. */
function pathOf({ setting, index, action, operator }: PlacedCriteria): ValuePath {
  return [setting, ...(index === undefined ? [] : [index]), action, operator];
}

/** Every list of criteria in both policies. */
export function criteriaLists({ policy, shadow_policy: shadow }: Policies): readonly PlacedCriteria[] {
  const lists: PlacedCriteria[] = [];
  addLists("policy", policy, lists);
  addLists("shadow_policy", shadow, lists);
  return lists;
}

function addLists(setting: keyof Policies, policy: PolicyDoc = [], lists: PlacedCriteria[]): void {
  if (!isList(policy)) return addRule({ setting, index: undefined }, policy, lists);
  for (const [index, rule] of policy.entries()) addRule({ setting, index }, rule, lists);
}

function addRule(place: Pick<PlacedCriteria, "setting" | "index">, rule: RulesDoc, lists: PlacedCriteria[]): void {
  for (const action of ACTIONS) {
    const block = rule[action];
    if (!block) continue;
    for (const operator of OPERATORS) {
      const criteria = block[operator];
      if (criteria) lists.push({ ...place, action, operator, block, criteria, names: criteria.map(nameOf) });
    }
  }
}
