/** The authorization server's metadata: its flags decide a client's next step, or make it stop. */
import { foundRule, isRefusal, metadataHeaders, pathForms } from "./challenge-rules.ts";
import type { JsonObject } from "./ask.ts";
import { broken, describe, HOLDS, holdsIf, lists, unknown, type Rule, type RuleVerdict } from "./rule.ts";
import type { DoctorCheck } from "./visit.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

/** A rule about one member of the metadata. */
export function serverRule(
  id: string,
  says: string,
  validate: (metadata: JsonObject, visit: DoctorCheck) => RuleVerdict | Promise<RuleVerdict>,
): Rule {
  return {
    id,
    says,
    async check(visit) {
      const metadata = await visit.server();
      return metadata ? validate(metadata, visit) : unknown("there is no authorization server metadata");
    },
  };
}

/** One member of the metadata is a list that contains the value. */
function listRule(id: string, member: string, value: string, fix: string): Rule {
  return serverRule(id, `${member} lists ${value}`, ({ [member]: listed }) =>
    holdsIf(lists(listed, value), `${member} is ${JSON.stringify(listed)}`, fix),
  );
}

export const serverMetadataFound = foundRule(
  "server-metadata-found",
  "the authorization server metadata is at its RFC 8414 address",
  async (visit) => {
    const issuer = new URL(await visit.issuer());
    return `${issuer.origin}/.well-known/oauth-authorization-server${trimSlash(issuer.pathname)}`;
  },
  "serve it there as JSON, without a login (RFC 8414 §3)",
);

export const openidMetadataFound: Rule = {
  id: "openid-metadata-found",
  says: "the same metadata is at the OpenID address, or nothing is",
  async check(visit) {
    const issuer = new URL(await visit.issuer());
    const url = `${issuer.origin}/.well-known/openid-configuration${trimSlash(issuer.pathname)}`;
    return sameServerOr4xx(visit, [url]);
  },
};

export const pathFormsAnswered: Rule = {
  id: "path-forms-answered",
  says: "metadata addresses with the server's path give the same metadata or 4xx",
  check: (visit) => sameServerOr4xx(visit, pathForms(visit)),
};

async function sameServerOr4xx(visit: DoctorCheck, urls: readonly string[]): Promise<RuleVerdict> {
  const metadata = await visit.server();
  if (!metadata) return unknown("there is no authorization server metadata");
  for (const url of urls) {
    const answer = await visit.ask({ url, headers: metadataHeaders });
    if (isRefusal(answer.status)) continue;
    const other = answer.status === 200 ? answer.json() : undefined;
    if (!other)
      return broken(
        `${url}: ${describe(answer)}`,
        "answer with the metadata, or 404: clients stop at 3xx, 5xx and pages",
      );
    if (other["issuer"] !== metadata["issuer"])
      return broken(
        `${url}: issuer is ${JSON.stringify(other["issuer"])}`,
        `say "${String(metadata["issuer"])}" there too`,
      );
  }
  return HOLDS;
}

export const metadataOnHost = foundRule(
  "metadata-on-host",
  "the MCP host itself answers for the authorization server (revision 2025-03-26)",
  ({ url }) => `${url.origin}/.well-known/oauth-authorization-server`,
  "serve the metadata on every MCP host: old clients look nowhere else",
);

export const issuerMatches = serverRule(
  "issuer-matches",
  "issuer is exactly the address of its metadata",
  async (metadata, visit) => {
    const issuer = await visit.issuer();
    const named = issuer === `${visit.url.origin}/` ? visit.url.origin : issuer;
    return holdsIf(
      metadata["issuer"] === named || metadata["issuer"] === issuer,
      `issuer is ${JSON.stringify(metadata["issuer"])}, asked as "${named}"`,
      "make both the same, byte for byte (RFC 8414 §3.3)",
    );
  },
);

export const endpointsSecure = serverRule(
  "endpoints-secure",
  "every endpoint is https, or http on loopback",
  (metadata) => {
    const names = [
      "authorization_endpoint",
      "token_endpoint",
      "registration_endpoint",
      "revocation_endpoint",
      "introspection_endpoint",
    ];
    const wrong = names.find((name) => metadata[name] !== undefined && !isSecure(metadata[name]));
    return wrong === undefined
      ? HOLDS
      : broken(`${wrong} is ${JSON.stringify(metadata[wrong])}`, "serve it over https: clients refuse others");
  },
);

function isSecure(value: unknown): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname));
}

export const endpointsNamed = serverRule(
  "endpoints-named",
  "authorization and token endpoint are named, for the code flow",
  (metadata) => {
    const wrong = ["authorization_endpoint", "token_endpoint"].find((name) => typeof metadata[name] !== "string");
    if (wrong !== undefined) return broken(`no ${wrong}`, "name it");
    const types = metadata["response_types_supported"];
    return holdsIf(lists(types, "code"), `response_types_supported is ${JSON.stringify(types)}`, 'list "code"');
  },
);

export const refreshAdvertised = listRule(
  "refresh-advertised",
  "grant_types_supported",
  "refresh_token",
  "offer refresh tokens and list them, or users must sign in often",
);

export const pkceAdvertised = listRule(
  "pkce-advertised",
  "code_challenge_methods_supported",
  "S256",
  "list S256: clients must stop without it",
);

export const publicClientsAdvertised = listRule(
  "public-clients-advertised",
  "token_endpoint_auth_methods_supported",
  "none",
  "list none: clients on users' computers cannot keep a secret",
);

export const issAdvertised = serverRule(
  "iss-advertised",
  "authorization_response_iss_parameter_supported is true",
  (metadata) => {
    const flag = metadata["authorization_response_iss_parameter_supported"];
    return holdsIf(
      flag === true,
      `it is ${JSON.stringify(flag)}`,
      "send iss and declare it (RFC 9207): it prevents mix-up attacks, and ChatGPT chooses its redirect by it",
    );
  },
);

export const documentsAdvertised = serverRule(
  "documents-advertised",
  "client ID metadata documents are supported, and public clients with them",
  (metadata) =>
    metadata["client_id_metadata_document_supported"] === true
      ? holdsIf(takesDocuments(metadata), "none is not listed", "also list none: clients use documents only then")
      : broken(
          "client_id_metadata_document_supported is not true",
          "allow the domains of your clients (mcp_allowed_client_id_domains); until then they register themselves",
        ),
);

/** Whether clients with a document use it here: requires the flag, and `none` with it. */
export function takesDocuments(metadata: JsonObject | undefined): boolean {
  return (
    metadata?.["client_id_metadata_document_supported"] === true &&
    lists(metadata["token_endpoint_auth_methods_supported"], "none")
  );
}

export const registrationAdvertised = serverRule(
  "registration-advertised",
  "registration_endpoint is named",
  (metadata) =>
    holdsIf(
      typeof metadata["registration_endpoint"] === "string",
      "it is not",
      "offer dynamic registration: this client has no other way to register",
    ),
);
