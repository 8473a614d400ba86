/** Rules between the access settings of a route, and between them and what else the route is. */
import { ACCESS_KEYS } from "../../policy/access-keys.ts";
import { hasCriteria } from "../../policy/validate-rules.ts";
import { ACTIONS, type ActionDoc, isList, OPERATORS } from "../../policy/parse.ts";
import { warningAt, errorAt, type UnplacedProblem, quote } from "../../settings/problem.ts";
import type { AccessDoc } from "./settings.ts";
import { shadowRules } from "./shadow-rules.ts";

const LISTS = ["allowed_users", "allowed_domains", "allowed_idp_claims"] as const;
/** Each makes the narrower ones pointless. */
const WIDE = ["allow_public_unauthenticated_access", "allow_any_authenticated_user"] as const;

/**
 * @param wrote whether the author wrote a member, sound or not
 * @param mcp   what the route is in MCP
 */
export function* accessRules(
  route: Partial<AccessDoc>,
  wrote: (name: keyof AccessDoc) => boolean,
  mcp: "server" | "client" | undefined,
): Iterable<UnplacedProblem> {
  if (!wrote("policy") && !ACCESS_KEYS.some((key) => wrote(key))) {
    yield warningAt([], 'has no "policy", so everything is denied');
  }
  const [isPublic, isAnybody] = WIDE;
  if (route[isPublic] === true && route[isAnybody] === true)
    yield errorAt([isAnybody], `cannot stand beside "${isPublic}", must be one of them`);
  for (const list of LISTS) {
    const values = route[list];
    if (values === undefined) continue;
    const wide = WIDE.find((each) => route[each] === true);
    if (wide !== undefined) yield errorAt([list], `cannot stand beside "${wide}", which lets everybody pass anyway`);
    yield* emptyList(list, values);
  }
  for (const name of ["bearer_token_format", "idp_access_token_allowed_audiences", "show_error_details"] as const) {
    const isOrdinary = name === "show_error_details" ? mcp !== "server" : mcp === undefined;
    if (!isOrdinary && wrote(name))
      yield errorAt([name], "cannot stand on an MCP route, whose callers show External Tokens");
  }
  if (route.idp_access_token_allowed_audiences?.length === 0)
    yield errorAt(["idp_access_token_allowed_audiences"], "is an empty list, must have an audience or be left out");
  yield* criteriaOfOthers(route, mcp === "server");
  yield* approveRules(route, mcp === "server");
  for (const { path, criteria, block } of listsOf(route)) {
    if (criteria.length === 0 && hasCriteria(block))
      yield warningAt(path, "is an empty list and adds nothing, should be left out");
  }
  yield* shadowRules(route);
}

function* emptyList(
  name: string,
  values: readonly string[] | Readonly<Record<string, readonly string[]>>,
): Iterable<UnplacedProblem> {
  const message = "is empty and lets nobody in, must have at least one value or be left out";
  if (Object.keys(values).length === 0) yield errorAt([name], message);
  for (const [claim, of] of Object.entries(values) as (readonly [string, unknown])[]) {
    if (Array.isArray(of) && of.length === 0) yield errorAt([name, claim], message);
  }
}

/** Criteria that can never hold on a route of this kind. */
function* criteriaOfOthers(route: Partial<AccessDoc>, isMcpServer: boolean): Iterable<UnplacedProblem> {
  for (const { path, name, action } of criteriaOf(route)) {
    if (name.startsWith("mcp_") && !isMcpServer) {
      const message = 'can never match: the route is no MCP server route, must have "mcp.server" beside the policy';
      // Under deny it does no harm where one policy serves routes of both kinds.
      yield action === "allow" ? errorAt(path, message) : warningAt(path, message);
    }
    if (name === "device" && isMcpServer)
      yield warningAt(path, "can never be known: clients of MCP servers cannot prove a device, and are answered 450");
    if (name === "cors_preflight" && isMcpServer) {
      yield warningAt(path, "can never match: preflight requests of MCP server routes are answered by the gateway");
    }
  }
  if (route.cors_allow_preflight === true && isMcpServer) {
    const message = "changes nothing on an MCP server route, whose preflight requests the gateway answers";
    yield warningAt(["cors_allow_preflight"], message);
  }
}

const NO_CALLS: ReadonlySet<string> = new Set(["mcp_prompt", "mcp_resource", "mcp_method"]);

/** Rules that ask for approvals are about tool calls: elsewhere they would look as if they held something back. */
function* approveRules(route: Policies, isMcpServer: boolean): Iterable<UnplacedProblem> {
  if (!isMcpServer) {
    const [first] = approvePlaces(route);
    const message = 'asks for approvals of tool calls: the route is no MCP server route, must have "mcp.server"';
    if (first) yield errorAt(first, message);
    return;
  }
  for (const { path, name, action } of criteriaOf(route)) {
    if (action !== "approve" || !NO_CALLS.has(name)) continue;
    yield errorAt(path, "is no criterion of tool calls, which alone are approved: must be left out");
  }
}

/** Approvals are given on the host of sign-in pages, which no route's application shares. */
export function* approvalPageRules(route: Policies, authenticateUrl: string | undefined): Iterable<UnplacedProblem> {
  const [first] = approvePlaces(route);
  if (first && authenticateUrl === undefined)
    yield errorAt(first, 'needs "authenticate_service_url", on whose host approvals are given');
}

function approvePlaces(route: Policies): readonly (readonly (string | number)[])[] {
  return [...listsOf(route)].filter(({ action }) => action === "approve").map(({ path }) => path.slice(0, -1));
}

/** Criteria that need something of the file given to `gateway run`. */
export function* certificateRules(
  route: Partial<AccessDoc>,
  mtls: { readonly enforcement?: string } | undefined,
): Iterable<UnplacedProblem> {
  for (const { path, name } of criteriaOf(route)) {
    const isAboutCertificates = name === "client_certificate" || name === "invalid_client_certificate";
    if (!isAboutCertificates) continue;
    if (!mtls)
      yield errorAt(path, 'can never be judged: clients are not asked for a certificate, needs "downstream_mtls"');
    else if (name === "invalid_client_certificate" && mtls.enforcement !== "policy") {
      const enforcement = quote(mtls.enforcement ?? "policy_with_default_deny");
      yield warningAt(path, `never matches: "downstream_mtls.enforcement" ${enforcement} refuses such requests before`);
    }
  }
}

type Policies = Partial<Pick<AccessDoc, "policy" | "shadow_policy">>;

/** Every criterion of both policies, with where it stands in the route. */
export function* criteriaOf(
  route: Policies,
): Iterable<{ readonly path: readonly (string | number)[]; readonly name: string; readonly action: string }> {
  for (const { path, action, criteria } of listsOf(route)) {
    for (const [position, criterion] of criteria.entries()) {
      const [key = ""] = Object.keys(criterion);
      yield { path: [...path, position, key], name: key.split("/")[0] ?? "", action };
    }
  }
}

interface PlacedList {
  readonly path: readonly (string | number)[];
  readonly action: string;
  readonly block: ActionDoc;
  readonly criteria: readonly object[];
}

/** Every list of criteria, with where it stands in the route. */
function* listsOf(route: Policies): Iterable<PlacedList> {
  for (const name of ["policy", "shadow_policy"] as const) {
    const policy = route[name];
    if (policy === undefined) continue;
    const rules = isList(policy) ? policy : [policy];
    for (const [index, rule] of rules.entries()) {
      const start = isList(policy) ? [name, index] : [name];
      for (const action of ACTIONS) {
        const block = rule[action];
        for (const operator of OPERATORS) {
          const criteria = block?.[operator];
          if (block && criteria) yield { path: [...start, action, operator], action, block, criteria };
        }
      }
    }
  }
}
