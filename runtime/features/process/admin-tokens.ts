/**
 * Tokens of the admin listener: the operator's, and the owners' for publishing.
 *
 * Each token has one purpose: the same text in two places is rejected, so that a copied line grants no other access. No
 * message quotes a token.
 */
import type { ProcessDoc } from "./settings.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { OwnerPublishToken } from "./compiled.ts";
import { errorAt, type UnplacedProblem, type ValuePath } from "../../settings/problem.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";

/** A guessed token can publish, and so redirect every user's requests, so length matters more than typing comfort. */
const LEAST_TOKEN_LENGTH = 20;

interface Written {
  readonly path: ValuePath;
  readonly token: string;
}

/** Validates tokens in plain text; references and sealed ones are validated when read. */
export function* adminTokenRules({ admin_token: token, owners = {} }: Partial<ProcessDoc>): Iterable<UnplacedProblem> {
  const written: Written[] = token === undefined ? [] : [{ path: ["admin_token"], token }];
  for (const [entry, { publish_token: tokens = [] }] of Object.entries(owners)) {
    const path = ["owners", entry, "publish_token"];
    if (typeof tokens === "string") written.push({ path, token: tokens });
    else written.push(...tokens.map((each, index) => ({ path: [...path, index], token: each })));
  }
  const known = new Set<string>();
  for (const each of written) {
    const problem = tokenProblem(each.token, known);
    if (problem !== undefined) yield errorAt(each.path, problem);
  }
}

/** @throws GatewayError `config.secret` */
export function compileAdminTokens(
  doc: ProcessDoc,
  secrets: SecretSource,
): { readonly adminToken: string | undefined; readonly publishTokens: readonly OwnerPublishToken[] } {
  const known = new Set<string>();
  const checked = (setting: string, token: string): string => {
    const problem = tokenProblem(token, known);
    if (problem === undefined) return token;
    throw new GatewayError("config.secret", `Cannot use "${setting}": it ${problem}`);
  };
  const [written] = secretValues(doc, "admin_token", secrets);
  const adminToken = written === undefined ? undefined : checked("admin_token", written);
  const publishTokens = Object.entries(doc.owners ?? {}).flatMap(([entry, rights]) =>
    secretValues(rights, "publish_token", secrets).map((token) => ({
      entry,
      token: checked(`owners.${entry}.publish_token`, token),
    })),
  );
  return { adminToken, publishTokens };
}

/** @param known previous tokens; this one is added */
function tokenProblem(token: string, known: Set<string>): string | undefined {
  if (/[^\x21-\x7e]/.test(token)) return "must be printable ASCII without spaces, or no client can send it";
  if (token.length < LEAST_TOKEN_LENGTH) {
    return `must have at least ${LEAST_TOKEN_LENGTH} characters, make one with \`openssl rand -hex 32\``;
  }
  if (known.has(token)) return "is the same as another token, must be one of its own";
  known.add(token);
  return undefined;
}
