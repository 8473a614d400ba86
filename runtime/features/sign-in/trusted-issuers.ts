/**
 * `identity_issuers`: issuers of trusted statements about users, the uses of each, and its keys.
 *
 * Only named uses are permitted: an issuer of workload tokens must not also be able to create users.
 */

import { errorAt, quote, type UnplacedProblem, type ValuePath } from "../../settings/problem.ts";
import { labelled } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { choice, duration, flag, text } from "../../settings/types/scalar.ts";
import { accepted, durationSeconds, parseDuration } from "../../settings/values.ts";
import { SIGNING_ALGORITHMS } from "../../shared/key-set.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import {
  addressProblem,
  clientIdProblem,
  hostProblem,
  issuerProblem,
  keysProblem,
  isKubernetesIssuer,
  keySource,
  keysTogetherProblem,
  type IssuerKeySource,
  nameProblem,
  oneOf,
} from "./issuer-checks.ts";
import { issuerSignInProblems, issuerSignInShape, SIGN_IN_USE } from "./issuer-sign-in.ts";
import { compileWorkloadRules, type WorkloadRule, workloadRuleProblems, workloadRules } from "./workload-rules.ts";

/**
 * `id_jag`: identity assertion authorization grants (enterprise-managed authorization). `workload`: tokens of a
 * platform about its jobs, pods and hosts (workload identity federation). `logout`: OIDC back-channel logout and global
 * token revocation. `sign_in`: sign-in of its users.
 */
export const ISSUER_USES = ["id_jag", "workload", "logout", SIGN_IN_USE] as const;
export type IssuerUse = (typeof ISSUER_USES)[number];

/** A longer-lived token is worth stealing. Pods keep theirs, and get a new one in time. */
const MAX_AGE_MS = 3_600_000;
const MAX_WORKLOAD_AGE_MS = 24 * 3_600_000;
const DEFAULT_AGE = { id_jag: "5m", workload: "1h", logout: "5m" } as const;

/** Members that apply only to some uses. */
const MEMBERS_OF_USES = [
  [["id_jag"], ["allowed_clients", "allow_public_clients"]],
  [["id_jag", "logout", SIGN_IN_USE], ["email_domains"]],
  [["workload"], ["audiences", "replay", "ignore_client_id", "workload_rules"]],
  [["logout"], ["logout_audiences", "logout_ends_grants"]],
  [[SIGN_IN_USE], [SIGN_IN_USE]],
  // Sign-in finds keys by the provider's metadata, and policies decide about hosts.
  [
    ["id_jag", "workload", "logout"],
    ["jwks_url", "jwks", "algorithms", "max_assertion_age"],
  ],
  [
    ["id_jag", "workload"],
    ["hosts", "max_token_lifetime"],
  ],
] as const;

/** Members that must not be empty. */
const LISTS = ["uses", "algorithms", "hosts", "allowed_clients", "audiences", "logout_audiences"] as const;

const IDENTITY_ISSUERS = "identity_issuers";

const shape = {
  issuer: text({
    doc: "Issuer identifier, exactly as in `iss`. Its users are `issuer:<name>/<sub>`, unless it equals `idp_provider_url`.",
    required: true,
    check: issuerProblem,
  }),
  uses: textList({
    doc: "What its tokens are accepted for: identity assertions of MCP clients, tokens of workloads, revoking access, or sign-in.",
    required: true,
    itemValues: ISSUER_USES,
    check: oneOf(ISSUER_USES, "a use"),
  }),
  jwks_url: text({
    doc: "URL of its public keys: `https://`, or `http://` on loopback.",
    unset: "discovered from `issuer`, on its own origin or a public address",
    check: addressProblem,
  }),
  jwks: text({
    doc: "Public keys as JSON (JWK set), instead of `jwks_url` and discovery.",
    unset: "none",
    check: keysProblem,
  }),
  algorithms: textList({
    doc: "Accepted signature algorithms.",
    default: [...SIGNING_ALGORITHMS],
    itemValues: SIGNING_ALGORITHMS,
    check: oneOf(SIGNING_ALGORITHMS, "an algorithm"),
  }),
  hosts: textList({
    doc: "Hosts on which its assertions and tokens are accepted (`id_jag`, `workload`).",
    unset: "all hosts",
    check: hostProblem,
  }),
  allowed_clients: textList({
    doc: "Client IDs that can present its assertions.",
    unset: "every client named in an assertion",
    check: clientIdProblem,
  }),
  allow_public_clients: flag({
    doc: "Accept clients without authentication. Anyone who has an assertion can then use it once, as its client.",
    default: false,
  }),
  max_assertion_age: duration({
    doc: "Maximum lifetime of an assertion (up to `1h` with `id_jag`, else `24h`), or age of a logout token.",
    unset: "`5m` with `id_jag` and `logout`, `1h` with `workload`",
    minMs: 30_000,
  }),
  max_token_lifetime: duration({
    doc: "Maximum lifetime of tokens issued for its assertions.",
    unset: "`access_token_lifetime`",
    minMs: 60_000,
  }),
  email_domains: textList({
    doc: "Email domains for which it is trusted. Other addresses, and those marked as unverified, are ignored.",
    unset: "none",
    check: hostProblem,
  }),
  audiences: textList({
    doc: "With `workload`: accepted audiences (`aud`). Tokens with any other audience are rejected.",
    unset: "origin of the requested host, with or without a trailing slash, and its token endpoint",
    check: (value) => (value === "" || value.length > 2048 ? "is empty or too long, must be an audience" : undefined),
  }),
  replay: choice(["once", "allowed"], {
    doc: "With `workload`: whether a token can be exchanged once or repeatedly.",
    default: "once",
  }),
  ignore_client_id: flag({
    doc: "With `workload`: ignore a `client_id` sent without authentication.",
    default: false,
  }),
  workload_rules: workloadRules,
  logout_audiences: textList({
    doc: "Additional client IDs accepted as audience of back-channel logout tokens.",
    unset: "none",
    check: clientIdProblem,
  }),
  logout_ends_grants: flag({
    doc: "Back-channel logout also revokes grants of MCP clients and earlier assertions.",
    default: false,
  }),
  ...issuerSignInShape,
};

export const trustedIssuersShape = {
  [IDENTITY_ISSUERS]: labelled(shape, {
    doc: "Issuers whose signed tokens about users and workloads are accepted, by name (lower-case letters, digits and dashes), which becomes part of user IDs.",
    unset: "none",
    checkName: nameProblem,
  }),
};

type IssuerDoc = ShapeDoc<typeof shape>;
type IssuersDoc = ShapeDoc<typeof trustedIssuersShape>;

/** An issuer, compiled for requests. */
export interface TrustedIssuer {
  readonly name: string;
  /** `iss`, byte for byte. */
  readonly issuer: string;
  /** Issuer part of its users' IDs; undefined: the default provider. */
  readonly userIssuer: string | undefined;
  readonly uses: ReadonlySet<IssuerUse>;
  readonly keys: IssuerKeySource;
  readonly algorithms: readonly string[];
  /** Undefined: all. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Undefined: all. */
  readonly allowedClients: ReadonlySet<string> | undefined;
  readonly allowsPublicClients: boolean;
  readonly maxAssertionAgeSeconds: Ages;
  /** Undefined: only `lifetimes.accessToken` applies. */
  readonly maxTokenLifetimeSeconds: number | undefined;
  readonly emailDomains: ReadonlySet<string>;
  /** Audiences of workload tokens; undefined: those of the host. */
  readonly audiences: readonly string[] | undefined;
  readonly allowsReplay: boolean;
  readonly ignoresClientId: boolean;
  readonly workloadRules: readonly WorkloadRule[];
  /** In addition to the client IDs with which its users sign in. */
  readonly logoutAudiences: readonly string[];
  readonly logoutEndsGrants: boolean;
}

export function* trustedIssuers({ identity_issuers: issuers }: Partial<IssuersDoc>): Iterable<UnplacedProblem> {
  const names = new Map<string, string>();
  for (const [name, doc] of Object.entries(issuers ?? {})) {
    const at = [IDENTITY_ISSUERS, name];
    const earlier = names.get(doc.issuer);
    if (earlier === undefined) names.set(doc.issuer, name);
    else yield errorAt([...at, "issuer"], `is that of ${quote(earlier)} too, must be of one entry alone`);
    const together = keysTogetherProblem(doc);
    if (together) yield errorAt([...at, together[0]], together[1]);
    if (isKubernetesIssuer(doc.issuer) && doc.uses.some((use) => use !== "workload"))
      yield errorAt([...at, "uses"], 'has other uses than "workload", the only one for a cluster');
    yield* ageProblems(at, doc);
    for (const list of LISTS) {
      if (doc[list]?.length === 0) yield errorAt([...at, list], "is an empty list, must name one at least");
    }
    for (const [uses, members] of MEMBERS_OF_USES) {
      if (uses.some((use) => doc.uses.includes(use)) || doc.uses.length === 0) continue;
      const member = members.find((each) => doc[each] !== undefined);
      if (member !== undefined)
        yield errorAt([...at, member], `says something of ${uses.map(quote).join(" and ")}, which is none of its uses`);
    }
    if (doc.uses.includes("workload") && Object.keys(doc.workload_rules ?? {}).length === 0)
      yield errorAt([...at, "uses"], 'has "workload", which requires "workload_rules"');
    yield* workloadRuleProblems(at, doc.issuer, doc.workload_rules);
    for (const problem of issuerSignInProblems(doc)) yield { ...problem, path: [...at, ...problem.path] };
  }
}

function* ageProblems(at: ValuePath, { max_assertion_age: age, uses }: IssuerDoc): Iterable<UnplacedProblem> {
  const isLong = uses.length > 0 && !uses.includes("id_jag");
  if (age === undefined || accepted(parseDuration(age)) <= (isLong ? MAX_WORKLOAD_AGE_MS : MAX_AGE_MS)) return;
  yield errorAt([...at, "max_assertion_age"], `is ${quote(age)}, must be at most ${isLong ? "24h" : "1h"}`);
}

/** @param providerUrl `idp_provider_url` */
export function compileTrustedIssuers(doc: Partial<IssuersDoc>, providerUrl: string | undefined): TrustedIssuer[] {
  return Object.entries(doc.identity_issuers ?? {}).map(([name, written]) => {
    const entry = withDefaults(shape, written);
    const isFirst = providerUrl !== undefined && trimSlash(providerUrl) === trimSlash(entry.issuer);
    return {
      name,
      issuer: entry.issuer,
      userIssuer: isFirst ? undefined : name,
      uses: new Set(ISSUER_USES.filter((use) => entry.uses.includes(use))),
      keys: keySource(written),
      algorithms: entry.algorithms,
      hosts: entry.hosts && new Set(entry.hosts),
      allowedClients: entry.allowed_clients && new Set(entry.allowed_clients),
      allowsPublicClients: entry.allow_public_clients,
      maxAssertionAgeSeconds: agesOf(entry),
      maxTokenLifetimeSeconds:
        entry.max_token_lifetime === undefined ? undefined : durationSeconds(entry.max_token_lifetime),
      emailDomains: new Set(entry.email_domains),
      audiences: entry.audiences,
      allowsReplay: entry.replay === "allowed",
      ignoresClientId: entry.ignore_client_id,
      workloadRules: compileWorkloadRules(entry.workload_rules),
      logoutAudiences: entry.logout_audiences ?? [],
      logoutEndsGrants: entry.logout_ends_grants,
    };
  });
}

type Ages = Readonly<Record<keyof typeof DEFAULT_AGE, number>>;

function agesOf({ max_assertion_age: age }: Pick<IssuerDoc, "max_assertion_age">): Ages {
  const secondsFor = (use: keyof Ages): number => durationSeconds(age ?? DEFAULT_AGE[use]);
  return { id_jag: secondsFor("id_jag"), workload: secondsFor("workload"), logout: secondsFor("logout") };
}

/** Issuers with this use. */
export function issuersWith(issuers: readonly TrustedIssuer[], use: IssuerUse): readonly TrustedIssuer[] {
  return issuers.filter(({ uses }) => uses.has(use));
}

/** Issuers with this use on the host of an origin. */
export function issuersFor(
  issuers: readonly TrustedIssuer[],
  use: IssuerUse,
  origin: string,
): readonly TrustedIssuer[] {
  if (issuers.length === 0) return issuers;
  const { hostname } = new URL(origin);
  return issuers.filter((each) => each.uses.has(use) && (each.hosts === undefined || each.hosts.has(hostname)));
}
