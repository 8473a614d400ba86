/** `console`: roles and permissions on the gateway's own pages for administrators. */
import { type CompiledPolicy, compilePolicy } from "../../policy/evaluate.ts";
import { isList, type PolicyDoc } from "../../policy/parse.ts";
import { policyWarnings } from "../../policy/validate-rules.ts";
import { errorAt, parsePath, type UnplacedProblem, type ValuePath, warningAt } from "../../settings/problem.ts";
import { block, labelled } from "../../settings/types/block.ts";
import { displayNameProblem } from "../../settings/types/checks.ts";
import { policy } from "../../settings/types/policy.ts";
import { text } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { matchesOwner, ownerPatternProblem } from "../process/owners.ts";
import { certificateRules, criteriaIn, criteriaLists } from "./rules.ts";

export const CONSOLE_ROLES = ["viewer", "operator", "approver", "auditor"] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

const rolesShape = {
  viewer: policy({
    doc: "Policy for the viewer role: sees everything except arguments and payload.",
    unset: "none",
  }),
  operator: policy({
    doc: "Policy for the operator role: viewer, and revokes access, blocks and rolls back.",
    unset: "none",
  }),
  approver: policy({
    doc: "Policy for the approver role: viewer, and decides about changed tools and pending calls.",
    unset: "none",
  }),
  auditor: policy({ doc: "Policy for the auditor role: also sees recorded arguments, as stored.", unset: "none" }),
};

export const consoleShape = {
  console: block(
    {
      ...rolesShape,
      name: text({
        doc: "Name of the environment, on each page of the console.",
        unset: "none",
        check: displayNameProblem,
      }),
      owners: labelled(rolesShape, {
        doc: "The same roles for one owner: its routes, their records and users. A name such as `kubernetes.*` matches all owners with that prefix.",
        unset: "none",
        checkName: ownerPatternProblem,
      }),
    },
    {
      doc: "Administrator console at `/.gateway/console/`, on the host of `authenticate_service_url`, which is required.",
      unset: "none",
    },
  ),
};

export type ConsoleDoc = ShapeDoc<typeof consoleShape>;

export type RolePolicies = ReadonlyMap<ConsoleRole, CompiledPolicy>;

/** Console settings, compiled for requests. */
export interface ConsoleSettings {
  /** Of the environment. */
  readonly name?: string | undefined;
  /** Roles for all owners. */
  readonly roles: RolePolicies;
  /** Owner, or a prefix with ".*" → roles for it. */
  readonly owners: ReadonlyMap<string, RolePolicies>;
}

export function compileConsole({ owners = {}, name, ...roles }: NonNullable<ConsoleDoc["console"]>): ConsoleSettings {
  return {
    name,
    roles: compileRoles(roles),
    owners: new Map(Object.entries(owners).map(([owner, own]) => [owner, compileRoles(own)])),
  };
}

/** Whether an owner has its own viewers; undefined: no owner has. */
export function consoleOwners({ owners }: ConsoleSettings): ((owner: string) => boolean) | undefined {
  if (owners.size === 0) return undefined;
  const patterns = [...owners.keys()];
  return (owner) => patterns.some((pattern) => matchesOwner(pattern, owner));
}

type RolesDoc = ShapeDoc<typeof rolesShape>;

function compileRoles(roles: RolesDoc): RolePolicies {
  const written = CONSOLE_ROLES.filter((role) => roles[role] !== undefined);
  return new Map(written.map((role) => [role, compilePolicy(roles[role])]));
}

/** The console shares no host with any application, whose scripts could act for the administrator. */
export const CONSOLE_HOST_PROBLEM = 'requires "authenticate_service_url", whose host serves it';

/** Reports criteria that a policy for a browser user cannot have. */
export function* consoleRules(
  settings: Partial<ConsoleDoc> & { readonly downstream_mtls?: { readonly enforcement?: string } },
): Iterable<UnplacedProblem> {
  const { console: written, downstream_mtls: mtls } = settings;
  if (!written) return;
  const policies = [...policiesOf(written)];
  if (policies.length === 0) yield warningAt(["console"], "has no role, so no user can open it");
  for (const { path, policy: doc } of policies) {
    for (const problem of policyProblems(doc, mtls)) yield { ...problem, path: [...path, ...problem.path.slice(1)] };
  }
}

/** Values that users cannot choose, or that identify the provider. */
const BOUND = new Set(["idp", "user", "email", "domain"]);

/**
 * Reports roles based only on groups or claims: each provider names groups freely, so a partner's `admins` would be
 * administrators.
 *
 * @param providers names of all sign-in providers
 */
export function* rolesOfAnyProvider(
  written: ConsoleDoc["console"] | undefined,
  providers: readonly string[],
): Iterable<UnplacedProblem> {
  if (!written || providers.length < 2) return;
  for (const { path, policy: doc } of policiesOf(written)) {
    const lists = criteriaLists({ policy: doc });
    if (lists.some(({ action, names }) => action === "deny" && names.includes("idp"))) continue;
    const open = lists.filter(
      ({ action, operator, names }) =>
        action === "allow" && !(operator === "and" && names.some((name) => BOUND.has(name))),
    );
    for (const { path: at } of criteriaIn(open, (name) => name === "groups" || name === "claim")) {
      const message = `counts for users of each of ${providers.join(", ")}: each of these providers can grant this role; restrict it with { idp: … } in the same "and"`;
      yield warningAt([...path, ...at.slice(1)], message);
    }
  }
}

/** @yields paths that start with "policy" */
function* policyProblems(
  doc: PolicyDoc,
  mtls: { readonly enforcement?: string } | undefined,
): Iterable<UnplacedProblem> {
  const lists = criteriaLists({ policy: doc });
  const found: UnplacedProblem[] = [];
  certificateRules(lists, mtls, (problem) => found.push(problem));
  yield* found;
  for (const { path, message } of policyWarnings(doc)) yield warningAt(["policy", ...parsePath(path)], message);
  for (const { path, name, action } of criteriaIn(lists)) {
    if (action === "approve") {
      yield errorAt(path.slice(0, -3), "requires approval of tool calls, which the console does not have");
      return;
    }
    if (name.startsWith("mcp_")) yield errorAt(path, "can never match: the console is not an MCP server");
  }
  for (const [index, rule] of (isList(doc) ? doc : [doc]).entries()) {
    const message = "is not allowed here: results of shadow rules for the console are not recorded, remove it";
    if (rule.shadow === true) yield errorAt(["policy", ...(isList(doc) ? [index] : []), "shadow"], message);
  }
}

function* policiesOf({
  owners = {},
  ...roles
}: NonNullable<ConsoleDoc["console"]>): Iterable<{ readonly path: ValuePath; readonly policy: PolicyDoc }> {
  const all: readonly (readonly [ValuePath, RolesDoc])[] = [
    [["console"], roles],
    ...Object.entries(owners).map(([owner, own]) => [["console", "owners", owner], own] as const),
  ];
  for (const [path, written] of all) {
    for (const role of CONSOLE_ROLES) {
      const doc = written[role];
      if (doc !== undefined) yield { path: [...path, role], policy: doc };
    }
  }
}
