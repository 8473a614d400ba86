/** The use `sign_in` of a trusted issuer: sign-in of its users, like `idp_…` for those of `idp_provider_url`. */
import { errorAt, quote, type UnplacedProblem } from "../../settings/problem.ts";
import { secret } from "../../settings/types/secret.ts";
import { block } from "../../settings/types/block.ts";
import { textMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { text } from "../../settings/types/scalar.ts";
import { FIRST_PROVIDER } from "../../shared/user-id.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { clientProofProblems, entraProblems } from "./rules.ts";
import { CLIENT_KEY, CLIENT_SECRET, notEmpty, type SignInDoc, signInShape } from "./settings.ts";

export const SIGN_IN_USE = "sign_in";

/** Members of the block: mostly those of `idp_…`. */
export const providerShape = {
  client_id: text({
    doc: "Client ID at this provider.",
    required: true,
    check: notEmpty("a client identifier"),
  }),
  ...secret("client_secret", CLIENT_SECRET),
  ...secret("client_key", CLIENT_KEY),
  client_key_id: signInShape.idp_client_key_id,
  client_auth: signInShape.idp_client_auth,
  client_proof_audience: signInShape.idp_client_proof_audience,
  push_requests: signInShape.idp_push_requests,
  label: text({
    doc: "Name on the page where users select a provider.",
    unset: "name of the entry",
    check: notEmpty("a name for people"),
  }),
  scopes: signInShape.idp_scopes,
  groups_claim: signInShape.idp_groups_claim,
  groups_resolver: signInShape.idp_groups_resolver,
  require_email_verified: signInShape.idp_require_email_verified,
  request_params: signInShape.idp_request_params,
  required_claims: textMap({
    doc: "Required claims of the ID token and their exact values, such as `hd: example.com` for Google or `tid` for Entra.",
    unset: "none",
  }),
};

/** Member of an entry in `identity_issuers`. */
export const issuerSignInShape = {
  [SIGN_IN_USE]: block(providerShape, {
    doc: "Sign-in of its users. Register the redirect URI `/.gateway/callback/<name>` on the host of the sign-in pages.",
    unset: "none",
  }),
};

/** Part of an entry that sign-in uses. */
type EntryDoc = ShapeDoc<typeof issuerSignInShape> & {
  readonly issuer: string;
  readonly uses: readonly string[];
  readonly email_domains?: readonly string[];
};

/** Problems of one entry, with paths relative to it. */
export function* issuerSignInProblems(entry: EntryDoc): Iterable<UnplacedProblem> {
  const { sign_in: doc, uses, issuer } = entry;
  if (uses.includes(SIGN_IN_USE) && !doc)
    yield errorAt(["uses"], `has "${SIGN_IN_USE}" and requires the block "${SIGN_IN_USE}"`);
  if (!doc) return;
  if (doc.scopes && !doc.scopes.includes("openid"))
    yield errorAt([SIGN_IN_USE, "scopes"], 'lacks "openid", which sign-in requires');
  yield* clientProofProblems(doc, "", [SIGN_IN_USE]);
  if (doc.groups_resolver)
    yield* entraProblems(doc.groups_resolver.entra, issuer, [SIGN_IN_USE, "groups_resolver", "entra"]);
}

/** `identity_issuers`, reduced to the part for sign-in. */
export type SignInEntries = Readonly<Record<string, EntryDoc>>;

type ProvidersDoc = Pick<SignInDoc, "idp_provider_url"> & { readonly identity_issuers?: SignInEntries };

/** Whether a provider for sign-in is configured. */
export function hasProvider(settings: ProvidersDoc): boolean {
  return providerNames(settings).length > 0;
}

/** Names as in the criterion `idp`. */
export function providerNames({
  idp_provider_url: first,
  identity_issuers: issuers = {},
}: ProvidersDoc): readonly string[] {
  const others = Object.entries(issuers).flatMap(([name, { uses }]) => (uses.includes(SIGN_IN_USE) ? [name] : []));
  return first === undefined ? others : [FIRST_PROVIDER, ...others];
}

/** Names of issuers with users in addition to another provider's. */
export function userIssuers({
  idp_provider_url: first,
  identity_issuers: issuers = {},
}: ProvidersDoc): readonly string[] {
  const names = Object.keys(issuers).filter((name) => issuers[name]?.uses.some((use) => use !== "logout") === true);
  return first === undefined && names.length < 2 ? [] : names;
}

/** Problems of the providers of a whole configuration. @param acceptsHttp whether providers may use http */
export function* providerProblems(
  { idp_provider_url: first, identity_issuers: issuers = {} }: ProvidersDoc,
  acceptsHttp: boolean,
): Iterable<string> {
  for (const [name, { issuer, uses }] of Object.entries(issuers)) {
    if (!uses.includes(SIGN_IN_USE)) continue;
    if (first !== undefined && trimSlash(first) === trimSlash(issuer))
      yield `has the use "${SIGN_IN_USE}" in ${quote(name)}, whose issuer is "idp_provider_url": its users already sign in with "idp_client_id"`;
    if (!acceptsHttp && issuer.toLowerCase().startsWith("http:"))
      yield `has an issuer in ${quote(name)} that starts with http://, must start with https:// for "${SIGN_IN_USE}" unless "development" is set`;
  }
}
