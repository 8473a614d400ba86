/**
 * Why our authorization server and oidc-provider answer some requests differently, rule by rule. A rule names the unusual
 * thing in the request and both outcomes, so that it cannot explain what it was not written for.
 */

export type Endpoint = "authorize" | "token" | "register";

/** One request and its result at both servers. */
export interface Seen {
  /** Changes of the request: "name=value", "name=value + value" (repeated), "-name" (omitted). */
  readonly bends: readonly string[];
  readonly ours: string;
  readonly theirs: string;
}

export interface Difference {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly because: string;
  readonly explains: (seen: Seen) => boolean;
}

interface Outcomes {
  readonly bend: RegExp;
  readonly ours: RegExp;
  readonly theirs: RegExp;
}

function difference(endpoint: Endpoint, name: string, because: string, { bend, ours, theirs }: Outcomes): Difference {
  return {
    endpoint,
    name,
    because,
    explains: (seen) => seen.bends.some((each) => bend.test(each)) && ours.test(seen.ours) && theirs.test(seen.theirs),
  };
}

/** Both refuse in the same place; with two errors in a request either may be the one that is named. */
function orderOfChecks(endpoint: Endpoint, refusal: RegExp): Difference {
  return {
    endpoint,
    name: "order of checks",
    because: "No specification says which of two faults is named",
    explains: ({ bends, ours, theirs }) => bends.length === 2 && refusal.test(ours) && refusal.test(theirs),
  };
}

const ANY = /./;
const REPEATED = /^\w+=[^]* \+ [^]*$/;

const authorize: readonly Difference[] = [
  difference(
    "authorize",
    "repeated parameters",
    "Parameters MUST NOT be included more than once (RFC 6749 §3.1), whichever they are: a page, because nothing in such a request can be trusted. oidc-provider ignores repeats of parameters it does not know and takes several resources (RFC 8707 §2), which no MCP client sends",
    { bend: REPEATED, ours: /^page 400$/, theirs: ANY },
  ),
  difference(
    "authorize",
    "errors that would leave for a site",
    "Anybody can register a site, so a refusal goes there only when the person follows the link (RFC 9700 §4.11.2)",
    { bend: /^redirect_uri=https:\/\/app\.example\.com\/callback\?fixed=1$/, ours: /^page, then client /, theirs: ANY },
  ),
  difference("authorize", "port zero", "No program can listen there", {
    bend: /^redirect_uri=http:\/\/127\.0\.0\.1:0\//,
    ours: /^page 400$/,
    theirs: ANY,
  }),
  difference(
    "authorize",
    "documents that are not permitted",
    "The requirements ask for a page that says the administrator restricted the domains; here documents are off",
    { bend: /^client_id=https:/, ours: /^page (400|403)$/, theirs: /^page 400$/ },
  ),
  difference(
    "authorize",
    "challenge of another length",
    "A SHA-256 hash has 43 characters in base64url: a longer one could never be met",
    { bend: /^code_challenge=[\w-]{44,}$/, ours: /^client invalid_request$/, theirs: ANY },
  ),
  difference(
    "authorize",
    "thumbprint of no key",
    "A SHA-256 hash has 43 characters in base64url (RFC 9449 §10); oidc-provider ignores the parameter where DPoP is off",
    { bend: /^dpop_jkt=x$/, ours: /^client invalid_request$/, theirs: ANY },
  ),
  difference(
    "authorize",
    "control characters in state",
    "State is printable ASCII (RFC 6749 Appendix A.5); other text is returned, control characters are not",
    // oxlint-disable-next-line no-control-regex -- that is what they are
    { bend: /^state=[^]*[\u0000-\u001f]/, ours: /^client invalid_request$/, theirs: ANY },
  ),
  difference(
    "authorize",
    "response modes",
    "Only query is offered; oidc-provider has fragment and form_post too, and a code of its own for the others",
    { bend: /^response_mode=(fragment|form_post|web_message|jwt)$/, ours: /^client /, theirs: ANY },
  ),
  difference(
    "authorize",
    "scopes as clients learnt them elsewhere",
    "The known part is granted and the answer says so (RFC 6749 §3.3); refusing would lock out clients that ask for openid",
    { bend: /^scope=/, ours: /^goes on$/, theirs: /^client invalid_scope$/ },
  ),
  difference(
    "authorize",
    "spellings of resource",
    "Clients differ in case of the host, default port and trailing slash, and some send the origin; all mean the same server",
    {
      bend: /^resource=https:\/\/mcp\.example\.com(:443)?(\/mcp)?\/?$/i,
      ours: /^goes on$/,
      theirs: /^client invalid_target$/,
    },
  ),
  difference(
    "authorize",
    "prompt=none",
    "Both refuse to go on silently; ours always may have to ask for consent, theirs looks for a session first",
    {
      bend: /^prompt=none/,
      ours: /^client interaction_required$/,
      theirs: /^client (login_required|invalid_request)$/,
    },
  ),
  difference(
    "authorize",
    "parameters of OpenID Connect",
    "Unknown parameters MUST be ignored (RFC 6749 §3.1); oidc-provider knows these and judges them",
    { bend: /^(prompt|nonce|max_age)=/, ours: /^goes on$/, theirs: /^client invalid_request$/ },
  ),
  difference("authorize", "pushed requests", "Neither takes them; the error differs", {
    bend: /^request_uri=urn:/,
    ours: /^client request_uri_not_supported$/,
    theirs: /^(client invalid_request_uri|page 400)$/,
  }),
  orderOfChecks("authorize", /^client (?!without)/),
];

const token: readonly Difference[] = [
  difference(
    "token",
    "repeated parameters",
    "Parameters MUST NOT be included more than once (RFC 6749 §3.2); oidc-provider lets unknown ones and resource pass",
    { bend: REPEATED, ours: /^400 invalid_request$/, theirs: ANY },
  ),
  difference(
    "token",
    "no redirect_uri",
    "A code that was asked for with a redirect URI is not valid without it; oidc-provider calls the request malformed",
    { bend: /^-?redirect_uri=?$/, ours: /^400 invalid_grant$/, theirs: /^400 invalid_request$/ },
  ),
  difference(
    "token",
    "half a client assertion",
    "A client that begins to prove itself by assertion must do it whole (RFC 7521 §4.2); there assertions are off and ignored",
    { bend: /^client_assertion(_type)?=/, ours: /^(400 invalid_request|401 invalid_client)$/, theirs: ANY },
  ),
  difference(
    "token",
    "unreadable Authorization",
    "Failed client authentication in the header is 401 with a challenge (RFC 6749 §5.2); oidc-provider calls it malformed",
    { bend: /^authorization=(|Bearer x|Basic|Basic !)$/, ours: /^401 invalid_client$/, theirs: /^400 / },
  ),
  difference(
    "token",
    "public client in the header",
    "A public client that names itself by HTTP Basic with an empty password is taken at its word: it has nothing to prove",
    { bend: /^authorization=Basic \{basic\}$/, ours: /^(200 |400 )/, theirs: /^400 invalid_request$/ },
  ),
  orderOfChecks("token", /^40[01] /),
];

const register: readonly Difference[] = [
  difference("register", "bodies that are no metadata", "RFC 7591 §3.2.2 has a code of its own", {
    bend: /^body=/,
    ours: /^400 invalid_client_metadata$/,
    theirs: /^400 invalid_request$/,
  }),
  difference(
    "register",
    "redirects that browsers read differently",
    "Credentials, repaired schemes, blanks and control characters: such a redirect is not the same address to everybody",
    {
      bend: /^redirect_uris=\["https:(\/\/u:p@|app|\/\/app\.example\.com\/(cb\\n|\\u0000)"\])/,
      ours: /^400 invalid_redirect_uri$/,
      theirs: ANY,
    },
  ),
  difference(
    "register",
    "custom schemes",
    "Only those that the operator lists exactly: any program may claim a scheme. Beside others they are dropped",
    {
      bend: /^redirect_uris=\["(com\.example\.app|cursor):/,
      ours: /^(400 invalid_redirect_uri|201 \["http:\/\/127\.0\.0\.1:33418\/callback"\])/,
      theirs: ANY,
    },
  ),
  difference(
    "register",
    "what can be used is registered",
    "One unusable redirect must not lock a whole product out; what was registered is returned (RFC 7591 §3.2.1)",
    {
      bend: /^redirect_uris=\["https:\/\/app\.example\.com\/cb","javascript:/,
      ours: /^201 \["https:\/\/app\.example\.com\/cb"\]/,
      theirs: /^400 /,
    },
  ),
  difference("register", "null for the default", "Clients serialise absent members as null", {
    bend: /^token_endpoint_auth_method=null$/,
    ours: /^201 .* client_secret_basic .*secret$/,
    theirs: /^400 invalid_client_metadata$/,
  }),
  difference(
    "register",
    "grants that lead nowhere",
    "A list without authorization_code is refused; oidc-provider adds to it, or registers a client that can do nothing",
    {
      bend: /^(grant_types=\[("refresh_token")?\]|response_types=\[\])$/,
      ours: /^400 invalid_client_metadata$/,
      theirs: /^201 /,
    },
  ),
  difference(
    "register",
    "members that are not understood",
    "The server MUST ignore what it does not understand (RFC 7591 §2) and drops what it would not show; what is registered is returned",
    {
      bend: /^(grant_types=.*"unknown"|response_types=.*"token"|(application_type|client_name|client_uri|logo_uri|scope|contacts|jwks_uri|subject_type|id_token_signed_response_alg)=)/,
      ours: /^201 /,
      theirs: /^400 invalid_client_metadata$/,
    },
  ),
  difference("register", "empty key sets", "Keys that are given must be usable", {
    bend: /^jwks=/,
    ours: /^400 invalid_client_metadata$/,
    theirs: /^201 /,
  }),
  orderOfChecks("register", /^(400 |500 )/),
];

export const DIFFERENCES: readonly Difference[] = [...authorize, ...token, ...register];
