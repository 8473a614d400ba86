/** The 401 that starts everything: clients sign in only after it, and only where it points. */
import { broken, describe, HOLDS, holdsIf, lists, unknown, type Rule } from "./rule.ts";
import { MCP_HEADERS, type DoctorCheck } from "./visit.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

const LARGE_BODY_BYTES = 65_536;
const MODERN = "2026-07-28";

const expected401 = "respond with 401 and WWW-Authenticate before checking anything else";

export const initializeChallenged: Rule = {
  id: "initialize-challenged",
  says: "POST initialize without a token is answered 401",
  async check(visit) {
    const answer = await visit.initialize();
    if (answer.status === 200) return broken("200: it works without a token", "protect the server");
    return holdsIf(answer.status === 401, describe(answer), expected401);
  },
};

export const discoverChallenged: Rule = {
  id: "discover-challenged",
  says: "POST server/discover (revision 2026-07-28) without a token is answered 401",
  async check(visit) {
    const answer = await visit.ask({
      method: "POST",
      url: visit.url.href,
      headers: { ...MCP_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "server/discover" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 0,
        method: "server/discover",
        params: {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    // Clients take 400, 404 and 405 for an old server, and would never start to sign in.
    return holdsIf(answer.status === 401, describe(answer), expected401);
  },
};

export const getChallenged: Rule = {
  id: "get-challenged",
  says: "GET without a token is answered 401",
  async check(visit) {
    const answer = await visit.ask({ url: visit.url.href, headers: { accept: "text/event-stream" } });
    return holdsIf(answer.status === 401, describe(answer), `${expected401}, for GET as for POST`);
  },
};

export const largeBodyChallenged: Rule = {
  id: "large-body-challenged",
  says: "a large message without a token gets 401, not a size error",
  async check(visit) {
    const answer = await visit.initialize({}, LARGE_BODY_BYTES);
    return holdsIf(answer.status === 401, describe(answer), "check the token before the size of the body");
  },
};

export const badTokenChallenged: Rule = {
  id: "bad-token-challenged",
  says: 'an invalid token gets 401 with error="invalid_token"',
  async check(visit) {
    const answer = await visit.initialize({ authorization: "Bearer gateway-doctor-no-token" });
    if (answer.status !== 401) return broken(describe(answer), "answer 401, or clients never refresh");
    const value = answer.header("www-authenticate") ?? "";
    return holdsIf(
      /\berror="?invalid_token\b/.test(value),
      `WWW-Authenticate: ${value}`,
      'add error="invalid_token" (RFC 6750 §3.1)',
    );
  },
};

export const challengeNamesMetadata: Rule = {
  id: "challenge-names-metadata",
  says: "WWW-Authenticate is one Bearer challenge with resource_metadata",
  async check(visit) {
    const answer = await visit.initialize();
    if (answer.status !== 401) return unknown("there is no 401");
    const value = answer.header("www-authenticate");
    if (value === undefined) return broken("no WWW-Authenticate", 'send Bearer resource_metadata="…" (RFC 9728 §5.1)');
    // SDKs ignore the whole header if another scheme comes first.
    if (!/^Bearer\b/i.test(value)) return broken(`WWW-Authenticate: ${value}`, "put the Bearer challenge first, alone");
    const named = await visit.namedMetadata();
    return holdsIf(named !== undefined, `WWW-Authenticate: ${value}`, 'add resource_metadata="<absolute address>"');
  },
};

export const challengeReadsPlainly: Rule = {
  id: "challenge-reads-plainly",
  says: "the challenge has no error if no token was sent, and no other parameter ends in scope or error",
  async check(visit) {
    const answer = await visit.initialize();
    const value = answer.header("www-authenticate");
    if (answer.status !== 401 || value === undefined) return unknown("there is no challenge");
    if (/\berror=/.test(value))
      return broken(`WWW-Authenticate: ${value}`, "omit error if no token was sent (RFC 6750 §3.1)");
    // SDKs search for scope= and error= anywhere in the header.
    return holdsIf(!/[\w-](scope|error)=/.test(value), `WWW-Authenticate: ${value}`, "rename that parameter");
  },
};

export const resourceMetadataFound: Rule = {
  id: "resource-metadata-found",
  says: "the protected resource metadata is JSON and names an authorization server",
  async check(visit) {
    const named = await visit.namedMetadata();
    if (named !== undefined) {
      const answer = await visit.ask({ url: named, headers: metadataHeaders });
      if (answer.status !== 200 || !answer.json())
        return broken(`${named}: ${describe(answer)}`, "answer 200 with the metadata, without a login (RFC 9728 §3)");
    }
    const resource = await visit.resource();
    if (!resource)
      return broken("no metadata at any address", "serve /.well-known/oauth-protected-resource (RFC 9728)");
    const servers = resource["authorization_servers"];
    return holdsIf(
      Array.isArray(servers) && servers.length > 0,
      `authorization_servers is ${JSON.stringify(servers)}`,
      "list at least one authorization server",
    );
  },
};

export const resourceMatches: Rule = {
  id: "resource-matches",
  says: "resource in the metadata is the address that was asked",
  async check(visit) {
    const resource = (await visit.resource())?.["resource"];
    if (resource === undefined) return unknown("there is no resource metadata");
    return holdsIf(
      typeof resource === "string" && trimSlash(resource) === trimSlash(visit.url.href),
      `resource is ${JSON.stringify(resource)}`,
      `say "${visit.url.href}" (RFC 9728 §3.3), or give users the address that resource says`,
    );
  },
};

/** Metadata, as JSON, exists at an address. @param orRefused a 4xx response is also allowed */
export function foundRule(
  id: string,
  says: string,
  addressOf: (visit: DoctorCheck) => string | Promise<string>,
  fix: string,
  orRefused = false,
): Rule {
  return {
    id,
    says,
    async check(visit) {
      const url = await addressOf(visit);
      const answer = await visit.ask({ url, headers: metadataHeaders });
      const found = answer.status === 200 && answer.json() !== undefined;
      return holdsIf(found || (orRefused && isRefusal(answer.status)), `${url}: ${describe(answer)}`, fix);
    },
  };
}

export const resourceMetadataAtPath = foundRule(
  "resource-metadata-at-path",
  "the metadata is also at the well-known address with the server's path",
  ({ url }) => `${url.origin}/.well-known/oauth-protected-resource${trimSlash(url.pathname)}`,
  "serve it there too: some clients do not read the challenge",
);

export const resourceMetadataAtRoot = foundRule(
  "resource-metadata-at-root",
  "the well-known address without a path is answered 200 or 4xx",
  ({ url }) => `${url.origin}/.well-known/oauth-protected-resource`,
  "respond with 404 if nothing is there: the Python SDK stops at 3xx and 5xx",
  true,
);

export const noOfflineAccess: Rule = {
  id: "no-offline-access",
  says: "the resource does not request offline_access",
  async check(visit) {
    const challenge = (await visit.initialize()).header("www-authenticate") ?? "";
    const asks =
      lists((await visit.resource())?.["scopes_supported"], "offline_access") || /offline_access/.test(challenge);
    return asks ? broken("offline_access", "only clients request it; remove it from challenge and metadata") : HOLDS;
  },
};

export const metadataHeaders = { accept: "application/json", "mcp-protocol-version": "2025-11-25" };

export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500;
}

/** @returns the server's path below a well-known name, and the name below the path */
export function pathForms(visit: DoctorCheck): readonly string[] {
  const path = trimSlash(visit.url.pathname);
  if (path === "") return [];
  const { origin } = visit.url;
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}
