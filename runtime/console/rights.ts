/** Who is what in the console: its policies, asked about the person in front of the browser. */
import { append } from "../shared/linear/append.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { ConsoleSettings, RolePolicies } from "../features/access/console.ts";
import { matchesOwner } from "../features/process/owners.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Principal } from "../identity/principal.ts";
import { evaluate } from "../policy/evaluate.ts";
import type { Facts } from "../policy/facts.ts";
import type { ConsoleRights, ConsoleRole } from "./screen.ts";

const NONE: ReadonlySet<ConsoleRole> = new Set();

/** What could be wrong in asking is a no, as everywhere (policy/evaluate.ts). */
export function rightsOf(
  settings: ConsoleSettings,
  snapshot: Snapshot,
  exchange: Pick<Exchange, "method" | "path" | "host" | "remoteAddress" | "clientCertificate">,
  { user, devices }: Principal,
): ConsoleRights {
  const { method, path, host, remoteAddress: ip, clientCertificate: certificate } = exchange;
  const http = { method, path, host, ip, ...(certificate && { certificate }) };
  const facts: Facts = { user, http, ...(devices && { devices }) };
  const roles = rolesIn(settings.roles, facts);
  const byOwner = new Map<string, Set<ConsoleRole>>();
  for (const [pattern, policies] of settings.owners) {
    const there = rolesIn(policies, facts);
    if (there.size === 0) continue;
    for (const owner of ownersOf(snapshot, pattern)) {
      const known = byOwner.get(owner);
      if (known) for (const role of there) known.add(role);
      else byOwner.set(owner, new Set(there));
    }
  }
  return {
    roles,
    byOwner,
    owners: roles.has("viewer") ? undefined : [...byOwner.keys()].toSorted(),
    may: (role, owner) => roles.has(role) || (owner !== undefined && (byOwner.get(owner) ?? NONE).has(role)),
  };
}

export function isAdmitted({ roles, byOwner }: ConsoleRights): boolean {
  return roles.size > 0 || byOwner.size > 0;
}

/** "operator and auditor", "viewer of team-a". */
export function rolesText({ roles, byOwner }: ConsoleRights): string {
  const own = namesOf(roles);
  const byRoles = new Map<string, string[]>();
  for (const [owner, there] of byOwner) {
    const more = namesOf(new Set([...there].filter((role) => !roles.has(role))));
    if (more !== "") append(byRoles, more, owner);
  }
  const parts = [...byRoles].map(([names, owners]) => `${names} of ${listOf(owners)}`);
  return [...(own === "" ? [] : [own]), ...parts].join("; ");
}

const SHOWN_OWNERS = 3;

function listOf(owners: readonly string[]): string {
  const shown = owners.slice(0, SHOWN_OWNERS).join(", ");
  return owners.length > SHOWN_OWNERS ? `${shown} and ${owners.length - SHOWN_OWNERS} more` : shown;
}

/** A viewer is what all others are, too. */
function namesOf(roles: ReadonlySet<ConsoleRole>): string {
  const names = [...roles].filter((role) => role !== "viewer" || roles.size === 1);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Each other role includes viewer. */
function rolesIn(policies: RolePolicies, facts: Facts): ReadonlySet<ConsoleRole> {
  const roles = [...policies].filter(([, policy]) => evaluate(policy, facts).allowed).map(([role]) => role);
  return roles.length === 0 ? NONE : new Set(["viewer", ...roles]);
}

function ownersOf({ routes }: Snapshot, pattern: string): ReadonlySet<string> {
  if (!pattern.endsWith(".*")) return new Set([pattern]);
  return new Set(routes.map(({ owner }) => owner).filter((owner) => matchesOwner(pattern, owner)));
}
