/** `directories`: SCIM sources of a company's users and groups, and their effect on sign-in. */
import { hash } from "node:crypto";

import { errorAt, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { labelled } from "../../settings/types/block.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { choice, count, text } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import { GatewayError } from "../../shared/errors.ts";
import { FIRST_PROVIDER, isIssuerName } from "../../shared/user-id.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

const DIRECTORIES = "directories";
/** Limit of users, and of groups. */
const MOST = 10_000_000;

const shape = {
  provider: text({
    doc: `Identity provider of its users: \`${FIRST_PROVIDER}\` for \`idp_provider_url\`, or a name in \`identity_issuers\`.`,
    default: FIRST_PROVIDER,
  }),
  ...secret("token", {
    doc: "Bearer token of the provider's SCIM client. At least 20 characters.",
    unset: "required, in one of its forms",
  }),
  ...secret("previous_token", {
    doc: "Previous token, also accepted during rotation.",
    unset: "none",
  }),
  subject_attribute: choice(["externalId", "userName"], {
    doc: "SCIM attribute that identifies the user.",
    default: "externalId",
  }),
  subject_claim: choice(["sub", "oid"], {
    doc: "Claim that `subject_attribute` must equal exactly. For Entra use `oid` and map `objectId` to `externalId`.",
    default: "sub",
  }),
  groups: choice(["directory", "both", "claims"], {
    doc: "Source of user groups: this directory, also the sign-in, or only the sign-in.",
    default: "directory",
  }),
  group_attribute: choice(["displayName", "externalId"], {
    doc: "Attribute that names groups in policies.",
    default: "displayName",
  }),
  unlisted_users: choice(["allowed", "refused"], {
    doc: "Treatment of users of the provider who are not in the directory.",
    default: "allowed",
  }),
  max_users: count({
    doc: "Maximum number of users. Further ones are rejected.",
    default: 250_000,
    min: 1,
    max: MOST,
  }),
  max_groups: count({ doc: "Maximum number of groups.", default: 50_000, min: 1, max: MOST }),
};

export const directoriesShape = {
  [DIRECTORIES]: labelled(shape, {
    doc: "Company directories (SCIM 2.0), by a name of lower-case letters, digits and dashes.",
    unset: "none",
    checkName: (name) =>
      isIssuerName(name) ? undefined : `is ${quote(name)}, must be 1 to 32 lower-case letters, digits and dashes`,
  }),
};

type DirectoryDoc = ShapeDoc<typeof shape>;
type DirectoriesDoc = ShapeDoc<typeof directoriesShape>;

/** A directory, compiled for requests. */
export interface Directory {
  readonly name: string;
  /** Issuer part of its users' IDs; undefined: the default provider. */
  readonly userIssuer: string | undefined;
  /** SHA-256. */
  readonly tokenHashes: readonly Buffer[];
  readonly subjectAttribute: "externalId" | "userName";
  readonly subjectClaim: "sub" | "oid";
  readonly groups: "directory" | "both" | "claims";
  readonly groupAttribute: "displayName" | "externalId";
  readonly refusesUnlisted: boolean;
  readonly max: Readonly<Record<"user" | "group", number>>;
}

/** Validates tokens in plain text; references and sealed ones are validated when read. */
export function* directoryRules({ directories = {} }: Partial<DirectoriesDoc>): Iterable<UnplacedProblem> {
  for (const [name, doc] of Object.entries(directories)) {
    for (const setting of ["token", "previous_token"] as const) {
      const token = doc[setting];
      const problem = token === undefined ? undefined : tokenProblem(token);
      if (problem !== undefined) yield errorAt([DIRECTORIES, name, setting], problem);
    }
  }
}

/** Problems of the directories of a whole configuration. */
export function* directoryProblems({
  directories = {},
  identity_issuers: issuers = {},
  idp_provider_url: first,
}: Partial<DirectoriesDoc> & {
  readonly identity_issuers?: Readonly<Record<string, { readonly issuer: string }>>;
  readonly idp_provider_url?: string;
}): Iterable<string> {
  const known = new Map<string, string>();
  for (const [name, { provider = FIRST_PROVIDER }] of Object.entries(directories)) {
    const issuer = provider === FIRST_PROVIDER ? first : issuers[provider]?.issuer;
    if (issuer === undefined) {
      yield `has ${quote(provider)} as provider of ${quote(name)}, must be "${FIRST_PROVIDER}" with "idp_provider_url" set, or a name in "identity_issuers"`;
      continue;
    }
    const earlier = known.get(issuer);
    if (earlier !== undefined) yield `has ${quote(earlier)} and ${quote(name)} for one provider, must have one of them`;
    known.set(issuer, name);
  }
}

/** @throws GatewayError `config.secret` */
export function compileDirectories(
  doc: Partial<DirectoriesDoc>,
  issuers: readonly TrustedIssuer[],
  secrets: SecretSource,
): readonly Directory[] {
  return Object.entries(doc.directories ?? {}).map(([name, written]) => {
    const entry = withDefaults(shape, written);
    return {
      name,
      userIssuer: issuers.find((each) => each.name === entry.provider)?.userIssuer,
      tokenHashes: compileTokens(name, written, secrets),
      subjectAttribute: entry.subject_attribute,
      subjectClaim: entry.subject_claim,
      groups: entry.groups,
      groupAttribute: entry.group_attribute,
      refusesUnlisted: entry.unlisted_users === "refused",
      max: { user: entry.max_users, group: entry.max_groups },
    };
  });
}

function compileTokens(name: string, doc: DirectoryDoc, secrets: SecretSource): readonly Buffer[] {
  const current = secretValues(doc, "token", secrets);
  if (current.length === 0)
    throw new GatewayError("config.secret", `Cannot use "directories.${name}": it has no token`);
  return [...current, ...secretValues(doc, "previous_token", secrets)].map((token) => {
    const problem = tokenProblem(token);
    if (problem === undefined) return hash("sha256", token, "buffer");
    throw new GatewayError("config.secret", `Cannot use a token of "directories.${name}": it ${problem}`);
  });
}

function tokenProblem(token: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(token)) return "must be printable ASCII without spaces, or no client can send it";
  return token.length < 20 ? "must have at least 20 characters" : undefined;
}

/** The directory of an issuer's users. @param issuer undefined: the default provider */
export function findDirectoryOf(directories: readonly Directory[], issuer: string | undefined): Directory | undefined {
  return directories.find(({ userIssuer }) => userIssuer === issuer);
}
