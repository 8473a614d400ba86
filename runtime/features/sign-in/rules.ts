/** Rules for settings of sign-in. */
import { hasSecret } from "../../settings/secret-forms.ts";
import type { SignInDoc } from "./settings.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";

/** Without this scope the provider answers as an OAuth server, without user data. @see OpenID Connect Core §3.1.2.1 */
export function* openidScope({ idp_scopes: scopes }: Partial<SignInDoc>): Iterable<UnplacedProblem> {
  if (scopes && !scopes.includes("openid")) yield errorAt(["idp_scopes"], 'lacks "openid", which sign-in requires');
}

export function* groupsResolver({
  idp_groups_resolver: resolver,
  idp_provider_url: provider,
}: Partial<SignInDoc>): Iterable<UnplacedProblem> {
  if (resolver) yield* entraProblems(resolver.entra, provider, ["idp_groups_resolver", "entra"]);
}

/** Requires one client authentication. @param prefix prefix of the settings' names */
export function* clientProofProblems(
  members: Readonly<Record<string, unknown>>,
  prefix: "idp_" | "",
  path: readonly string[] = [],
): Iterable<UnplacedProblem> {
  const [secret, key, method] = [`${prefix}client_secret`, `${prefix}client_key`, `${prefix}client_auth`];
  if (hasSecret(members, secret) && hasSecret(members, key))
    yield errorAt(path, `has "${secret}" and "${key}", must have one of them`);
  if (members[method] !== undefined && !hasSecret(members, secret))
    yield errorAt([...path, method], `requires "${secret}"`);
  const [keyId, audience] = [`${prefix}client_key_id`, `${prefix}client_proof_audience`];
  if (members[keyId] !== undefined && !hasSecret(members, key)) yield errorAt([...path, keyId], `requires "${key}"`);
  if (members[audience] !== undefined && !hasSecret(members, key) && members[method] !== "client_secret_jwt")
    yield errorAt([...path, audience], `requires "${key}", or "client_secret_jwt" as "${method}"`);
}

type EntraDoc = NonNullable<SignInDoc["idp_groups_resolver"]>["entra"];

/** A resolver that could never answer, or would send its secret to one cloud and its requests to another. */
export function* entraProblems(
  entra: EntraDoc,
  provider: string | undefined,
  path: readonly string[],
): Iterable<UnplacedProblem> {
  if (!hasSecret(entra, "client_secret")) yield errorAt(path, 'lacks "client_secret"');
  if ((entra.login_url === undefined) !== (entra.graph_url === undefined)) {
    const [written, other] = entra.login_url === undefined ? ["graph_url", "login_url"] : ["login_url", "graph_url"];
    yield errorAt([...path, written], `requires "${other}", of the same cloud`);
  }
  const tenant = TENANT_IN_ISSUER.exec(provider ?? "")?.[1]?.toLowerCase();
  if (tenant !== undefined && tenant !== entra.tenant.toLowerCase())
    yield errorAt([...path, "tenant"], "is not the tenant of the provider, whose users it would query");
}

/** "https://login.microsoftonline.com/<tenant>/v2.0" */
const TENANT_IN_ISSUER = /^https?:\/\/[^/]+\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/|$)/i;
