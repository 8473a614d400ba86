/** Needs of a client that runs inside a web page (CORS), and limits for foreign pages. */
import { metadataHeaders } from "./challenge-rules.ts";
import type { DoctorAnswer } from "./ask.ts";
import { broken, describe, HOLDS, holdsIf, unknown, type Rule, type RuleVerdict } from "./rule.ts";
import { MCP_HEADERS, type DoctorCheck } from "./visit.ts";

/** Origin of the Inspector's web page. */
const ORIGIN = "http://localhost:6274";
const MCP_REQUEST_HEADERS = "authorization,content-type,mcp-protocol-version";

async function preflight(visit: DoctorCheck, url: unknown, method: string, headers: string): Promise<RuleVerdict> {
  if (typeof url !== "string") return unknown("there is no such endpoint");
  const answer = await visit.ask({
    method: "OPTIONS",
    url,
    headers: { origin: ORIGIN, "access-control-request-method": method, "access-control-request-headers": headers },
  });
  if (answer.status < 200 || answer.status > 299)
    return broken(describe(answer), "respond to OPTIONS with 204 before checking the token");
  if (!allowsOrigin(answer))
    return broken(
      `Access-Control-Allow-Origin is ${JSON.stringify(answer.header("access-control-allow-origin"))}`,
      `allow ${ORIGIN}`,
    );
  const allowed = (answer.header("access-control-allow-headers") ?? "").toLowerCase();
  const missing = headers.split(",").find((name) => !allowed.split(/\s*,\s*/).includes(name));
  return missing === undefined ? HOLDS : broken(`Access-Control-Allow-Headers lacks ${missing}`, "allow it");
}

function allowsOrigin(answer: DoctorAnswer): boolean {
  const value = answer.header("access-control-allow-origin");
  return value === "*" || value === ORIGIN;
}

export const preflightRoute: Rule = {
  id: "preflight-route",
  says: "a page on loopback may send MCP messages",
  check: (visit) => preflight(visit, visit.url.href, "POST", MCP_REQUEST_HEADERS),
};

export const challengeExposed: Rule = {
  id: "challenge-exposed",
  says: "a page may read the challenge",
  async check(visit) {
    const answer = await visit.initialize({ origin: ORIGIN });
    if (answer.status !== 401) return unknown("there is no 401 for it");
    if (!allowsOrigin(answer))
      return broken("no Access-Control-Allow-Origin on the 401", `allow ${ORIGIN} on errors too`);
    const exposed = (answer.header("access-control-expose-headers") ?? "").toLowerCase();
    return holdsIf(
      exposed.includes("www-authenticate"),
      `Access-Control-Expose-Headers is "${exposed}"`,
      "expose WWW-Authenticate",
    );
  },
};

export const metadataReadable: Rule = {
  id: "metadata-readable",
  says: "a page may read both metadata documents, with MCP-Protocol-Version sent",
  async check(visit) {
    const urls = await visit.metadataUrls();
    if (urls.length < 2) return unknown("there is no metadata");
    for (const url of urls) {
      const verdict = await preflight(visit, url, "GET", "mcp-protocol-version");
      if (verdict.outcome !== "holds")
        return verdict.outcome === "broken" ? broken(`${url}: ${verdict.seen}`, verdict.fix) : verdict;
      const answer = await visit.ask({ url, headers: { ...metadataHeaders, origin: ORIGIN } });
      if (!allowsOrigin(answer)) return broken(`${url}: no Access-Control-Allow-Origin`, "send * on metadata");
    }
    return HOLDS;
  },
};

export const tokenReachable = reachable("token-reachable", "a page may ask the token endpoint", "token_endpoint");

export const registrationReachable = reachable(
  "registration-reachable",
  "a page may register",
  "registration_endpoint",
);

function reachable(id: string, says: string, endpoint: string): Rule {
  const check: Rule["check"] = async (visit) =>
    preflight(visit, (await visit.server())?.[endpoint], "POST", "content-type");
  return { id, says, check };
}

export const foreignOriginRefused: Rule = {
  id: "foreign-origin-refused",
  says: "messages from pages of other origins are rejected",
  async check(visit) {
    const answer = await visit.ask({
      method: "POST",
      url: visit.url.href,
      headers: { ...MCP_HEADERS, origin: "https://gateway-doctor.invalid" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
    });
    return holdsIf(
      answer.status === 403,
      describe(answer),
      "answer 403 to an Origin that is not allowed (MCP transports, security warning)",
    );
  },
};
