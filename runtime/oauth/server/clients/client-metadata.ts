/**
 * Client metadata as clients send it → as we register it.
 *
 * Untrusted input: the whole document. Promises: registered values are honoured, and returned to the client. Unknown
 * members are dropped ("The authorization server MUST ignore any client metadata sent by the client that it does not
 * understand", RFC 7591 §2). Unusable redirect URIs are dropped if others remain: one custom scheme in the list must
 * not exclude a whole product.
 */
import type { DomainPattern } from "../../../settings/domains.ts";
import { hashSecret } from "../../../shared/keys.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import { isKeySetAddress } from "./client-keys.ts";
import { kidProblem, parseKeySet, SIGNING_ALGORITHMS } from "../../../shared/key-set.ts";
import type { AuthMethod, ClientMetadata } from "../grant-records.ts";
import { redirectUriProblem } from "./redirect-uri.ts";
import { DEFAULT_SCOPE } from "../scope.ts";
import { isRecord } from "../../../shared/is-record.ts";

const MAX_REDIRECT_URIS = 32;
const MAX_NAME_CHARACTERS = 255;
const MAX_TEXT_CHARACTERS = 2048;

const AUTH_METHODS: readonly string[] = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
const GRANT_TYPES: readonly string[] = ["authorization_code", "refresh_token"];

export interface MetadataRules {
  /** Exact redirect URIs with private-use schemes that the operator allows. */
  readonly allowedPrivateUris: readonly string[];
  /** Allowed hosts of client documents: `mcp_allowed_client_id_domains`. */
  readonly documentDomains: readonly DomainPattern[];
}

export interface RegistrationRules extends MetadataRules {
  /** Default of `token_endpoint_auth_method`: "client_secret_basic" (RFC 7591 §2), "none" for documents. */
  readonly defaultAuthMethod: AuthMethod;
}

/** Returns the metadata to register, or the error of RFC 7591 §3.2.2. */
export function parseClientMetadata(value: unknown, rules: RegistrationRules): StepResult<ClientMetadata> {
  if (!isRecord(value)) return refuse("invalid_client_metadata", "The client metadata must be a JSON object");
  const redirectUris = parseRedirectUris(value["redirect_uris"], rules);
  if (!redirectUris.ok) return redirectUris;
  const authMethod = value["token_endpoint_auth_method"] ?? rules.defaultAuthMethod;
  if (typeof authMethod !== "string" || !AUTH_METHODS.includes(authMethod)) {
    return refuse("invalid_client_metadata", `token_endpoint_auth_method must be one of ${AUTH_METHODS.join(", ")}`);
  }
  const grantTypes = parseGrantTypes(value["grant_types"]);
  if (!grantTypes.ok) return grantTypes;
  const responseTypes = value["response_types"];
  if (responseTypes !== undefined && !(isTextList(responseTypes) && responseTypes.includes("code"))) {
    return refuse("invalid_client_metadata", "response_types must include code");
  }
  const keys = parseKeys(value, rules);
  if (!keys.ok) return keys;
  if (authMethod === "private_key_jwt" && keys.value.jwks === undefined && keys.value.jwks_uri === undefined) {
    return refuse("invalid_client_metadata", "private_key_jwt needs jwks or jwks_uri");
  }
  return pass({
    redirect_uris: redirectUris.value,
    token_endpoint_auth_method: authMethod as AuthMethod,
    grant_types: grantTypes.value,
    response_types: ["code"],
    scope: DEFAULT_SCOPE,
    ...(value["dpop_bound_access_tokens"] === true ? { dpop_bound_access_tokens: true } : {}),
    ...descriptiveMembers(value),
    ...keys.value,
  });
}

/** Hash of what the consent page shows and where responses go. A change invalidates remembered consents. */
export function hashMetadata(metadata: ClientMetadata): string {
  const { client_name, client_uri, redirect_uris, token_endpoint_auth_method } = metadata;
  return hashSecret(
    JSON.stringify([client_name ?? null, client_uri ?? null, [...redirect_uris].sort(), token_endpoint_auth_method]),
  );
}

function parseRedirectUris(value: unknown, rules: MetadataRules): StepResult<readonly string[]> {
  if (!isTextList(value) || value.length === 0)
    return refuse("invalid_redirect_uri", "redirect_uris must list at least one URI");
  if (value.length > MAX_REDIRECT_URIS) {
    return refuse("invalid_redirect_uri", `redirect_uris must list at most ${MAX_REDIRECT_URIS} URIs`);
  }
  const problems = value.map((uri) => redirectUriProblem(uri, rules.allowedPrivateUris));
  const usable = [...new Set(value.filter((_, index) => problems[index] === undefined))];
  if (usable.length > 0) return pass(usable);
  return refuse(
    "invalid_redirect_uri",
    "No redirect URI can be used: they must be https, or http on 127.0.0.1, [::1] or localhost, without fragment and user",
    problems.join(","),
  );
}

/** Keys are stored for every method: a client with the method `none` may still send an assertion. */
function parseKeys(
  value: Readonly<Record<string, unknown>>,
  rules: MetadataRules,
): StepResult<Pick<ClientMetadata, "jwks" | "jwks_uri">> {
  const { jwks: written, jwks_uri: address } = value;
  // "The jwks_uri and jwks parameters MUST NOT both be present in the same request or response" (RFC 7591 §2).
  if (written !== undefined && address !== undefined)
    return refuse("invalid_client_metadata", "jwks and jwks_uri must not both be present");
  const signs = value["token_endpoint_auth_method"] === "private_key_jwt";
  if (written !== undefined) return parseWrittenKeys(written, signs);
  if (address === undefined) return pass({});
  if (isKeySetAddress(address, rules.documentDomains)) return pass({ jwks_uri: address });
  // Useless for a client that does not sign, but no reason to reject it.
  return signs
    ? refuse("invalid_client_metadata", "jwks_uri must be an https address on a permitted client ID document domain")
    : pass({});
}

function parseWrittenKeys(written: unknown, signs: boolean): StepResult<Pick<ClientMetadata, "jwks">> {
  const parsed = parseKeySet(written);
  const problem = parsed.ok ? (parsed.problems[0] ?? kidProblem(parsed.value)) : parsed.problem;
  if (!parsed.ok || problem !== undefined) return refuse("invalid_client_metadata", `jwks: ${problem}`);
  if (parsed.value.keys.length > 0) return pass({ jwks: parsed.value });
  return signs
    ? refuse("invalid_client_metadata", `jwks: has no key for signatures with ${SIGNING_ALGORITHMS.join(", ")}`)
    : pass({});
}

/** Absent means both: nearly every client refreshes without saying so. */
function parseGrantTypes(value: unknown): StepResult<readonly string[]> {
  if (value === undefined) return pass(GRANT_TYPES);
  if (!isTextList(value) || !value.includes("authorization_code")) {
    return refuse("invalid_client_metadata", "grant_types must include authorization_code");
  }
  return pass(GRANT_TYPES.filter((type) => value.includes(type)));
}

/** Members for display. Values that are not safe to show are dropped. */
function descriptiveMembers(value: Readonly<Record<string, unknown>>): Partial<ClientMetadata> {
  const contacts = value["contacts"];
  const type = value["application_type"];
  return {
    ...(type === "native" || type === "web" ? { application_type: type } : {}),
    ...textMember(value, "client_name", MAX_NAME_CHARACTERS),
    ...webMember(value, "client_uri"),
    ...webMember(value, "logo_uri"),
    ...webMember(value, "tos_uri"),
    ...webMember(value, "policy_uri"),
    ...(isTextList(contacts) &&
    contacts.length <= 10 &&
    contacts.every((contact) => isLine(contact, MAX_NAME_CHARACTERS))
      ? { contacts }
      : {}),
    ...textMember(value, "software_id", MAX_NAME_CHARACTERS),
    ...textMember(value, "software_version", MAX_NAME_CHARACTERS),
  };
}

function textMember(
  value: Readonly<Record<string, unknown>>,
  name: string,
  maxCharacters: number,
): Record<string, string> {
  const text = value[name];
  return typeof text === "string" && isLine(text, maxCharacters) ? { [name]: text } : {};
}

function webMember(value: Readonly<Record<string, unknown>>, name: string): Record<string, string> {
  const text = value[name];
  if (typeof text !== "string" || !isLine(text, MAX_TEXT_CHARACTERS) || !URL.canParse(text)) return {};
  return /^https?:$/.test(new URL(text).protocol) ? { [name]: text } : {};
}

/** Returns true for one line of text without control characters and marks that reorder the following text. */
function isLine(text: string, maxCharacters: number): boolean {
  return (
    text !== "" &&
    text.length <= maxCharacters &&
    text.isWellFormed() &&
    !/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text)
  );
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
