/**
 * Each header setting with its effect at a real application: over HTTP/1.1 and HTTP/2 on either side of the gateway, so
 * each step asks four times. A line per step, then "N passed, N failed".
 */
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from "jose";

import { loadSlices } from "../../runtime/config/load.ts";
import { createSteps } from "../demo/steps.ts";
import { type Exchanged, type Pair, PAIRS, startHeaderStage } from "./stage.ts";

const steps = createSteps();
const stage = await startHeaderStage();
const { origin, to } = stage;
const publicHost = new URL(origin).host;

/** Asks once over each pair of protocols. @returns what `assess` says of the last one */
async function each(
  path: string,
  headers: Readonly<Record<string, string>>,
  assess: (exchanged: Exchanged, pair: Pair) => string | Promise<string>,
): Promise<string> {
  let said = "";
  for (const pair of PAIRS) {
    const exchanged = await stage.ask(pair, path, headers);
    const { version } = exchanged.seen;
    steps.equal(version, pair.upstream === "http1" ? "1.1" : "2.0", "what the application was spoken to with");
    said = await assess(exchanged, pair);
  }
  return said;
}

/** The Host, or `:authority`, that the application gets. */
function host(path: string, wanted: (pair: Pair) => string, headers: Readonly<Record<string, string>> = {}) {
  return each(path, headers, ({ seen }, pair) => {
    steps.equal(seen.host, wanted(pair), `${pair.client} to ${pair.upstream}`);
    return seen.host;
  });
}
const hostOfTo = ({ upstream }: Pair): string => new URL(to[upstream]).host;

try {
  await steps.step("without a setting Host is the host of `to`", () => host("plain/a", hostOfTo));
  await steps.step("preserve_host_header passes the Host that the client sent", () =>
    host("preserved/a", () => publicHost),
  );
  await steps.step("host_rewrite sets a fixed Host", () => host("fixed/a", () => "www.example.com"));
  await steps.step("host_rewrite_header takes Host from a request header", () =>
    host("by-header/a", () => "tenant-b.internal", { "x-original-host": "tenant-b.internal" }),
  );
  await steps.step("host_rewrite_header falls back on `to` where the header is no host", () =>
    host("by-header/a", hostOfTo, { "x-original-host": "tenant-b.internal/evil" }),
  );
  await steps.step(
    "host_path_regex_rewrite_pattern and host_path_regex_rewrite_substitution derive Host from the path",
    () => host("by-path/tenant-a.internal/index.html?a=b", () => "tenant-a.internal"),
  );
  await steps.step("host_path_regex_rewrite_pattern falls back on `to` where it does not match", () =>
    host("by-path/short", hostOfTo),
  );

  await steps.step("set_request_headers sends text as it stands, in place of what the client sent", () =>
    each("request/a", { "x-plan": "forged" }, ({ seen }) => {
      steps.equal(seen.headers["x-plan"], "pro ($5)");
      return `X-Plan: ${String(seen.headers["x-plan"])}`;
    }),
  );
  await steps.step("${gateway.access_token} is the user's token: the identity provider takes it", () =>
    each("request/a", {}, async ({ seen }) => {
      const authorization = String(seen.headers["x-user-token"]);
      const answer = await stage.send({ method: "GET", url: `${stage.issuer}/me`, headers: { authorization } });
      steps.equal(answer.status, 200);
      steps.equal(answer.json()["sub"], "u-alice");
      return `userinfo says ${String(answer.json()["sub"])}`;
    }),
  );
  await steps.step("${gateway.id_token} is the ID token of the sign-in", () =>
    each("request/a", {}, ({ seen }) => {
      const claims = decodeJwt(String(seen.headers["x-id-token"]));
      steps.equal(claims.iss, stage.issuer);
      steps.equal(claims.sub, "u-alice");
      return `${claims.sub} of ${claims.iss}`;
    }),
  );
  await steps.step("${gateway.jwt} is the signed identity, the same as in X-Gateway-Jwt-Assertion", async () => {
    const published = await stage.send({ method: "GET", url: `${origin}/.well-known/gateway/jwks.json` });
    const keys = createLocalJWKSet(published.json() as unknown as JSONWebKeySet);
    return each("request/a", {}, async ({ seen }) => {
      const jwt = String(seen.headers["x-identity"]);
      steps.equal(jwt, seen.headers["x-gateway-jwt-assertion"]);
      const { payload } = await jwtVerify(jwt, keys, { audience: "localhost" });
      steps.equal(payload["email"], "alice@example.com");
      return `signed for ${String(payload["email"])}`;
    });
  });
  await steps.step("${gateway.client_cert_fingerprint} is the SHA-256 of the client's certificate", () =>
    each("request/a", {}, ({ seen }) => {
      steps.equal(seen.headers["x-certificate"], stage.fingerprint);
      return stage.fingerprint;
    }),
  );
  await steps.step('${gateway.request.headers["User-Agent"]} is what the client sent, and is not expanded again', () =>
    each("request/a", { "user-agent": "curl/${gateway.access_token}" }, ({ seen }) => {
      steps.equal(seen.headers["x-browser"], "seen: curl/${gateway.access_token}");
      return `X-Browser: ${String(seen.headers["x-browser"])}`;
    }),
  );
  await steps.step("remove_request_headers takes headers away, others go upstream", () =>
    each("request/a", { "x-debug": "1", "X-Internal": "2", "x-other": "kept" }, ({ seen }) => {
      steps.equal(seen.headers["x-debug"], undefined);
      steps.equal(seen.headers["x-internal"], undefined);
      steps.equal(seen.headers["x-other"], "kept");
      return "X-Debug and X-Internal are gone";
    }),
  );
  await steps.step("set_response_headers of the route wins over the gateway's, and both over the application's", () =>
    each("response/a", {}, ({ headers }) => {
      steps.equal(headers["x-frame-options"], "DENY");
      steps.equal(headers["referrer-policy"], "no-referrer");
      steps.equal(headers["x-powered-by"], "the application");
      return `X-Frame-Options: ${String(headers["x-frame-options"])}`;
    }),
  );
  await steps.step("set_response_headers of the gateway is on every route, and leaks from none to another", () =>
    each("plain/a", {}, ({ headers }) => {
      steps.equal(headers["x-frame-options"], "SAMEORIGIN");
      return `X-Frame-Options: ${String(headers["x-frame-options"])}`;
    }),
  );
  await steps.step("rewrite_response_headers replaces the beginning of Location", () =>
    each("response/a", {}, ({ headers }) => {
      steps.equal(headers["location"], `${origin}/next`);
      return `Location: ${String(headers["location"])}`;
    }),
  );
  await steps.step("rewrite_response_headers of one route leave others alone", () =>
    each("plain/a", {}, ({ headers }, { upstream }) => {
      steps.equal(headers["location"], `${to[upstream]}/next`);
      return `Location: ${String(headers["location"])}`;
    }),
  );

  await steps.step("Host and pseudo-headers cannot be set: such a configuration is refused", async () => {
    const refused = ["Host", ":authority", ":path"].map((name) => {
      const route = { from: "https://a.example.com", to: "http://a.internal", set_request_headers: { [name]: "x" } };
      const text = JSON.stringify({ version: 1, owner: "team", routes: { a: route } });
      const { config, problems } = loadSlices([{ file: "team.json", text, boot: false }]);
      steps.ok(config === undefined, `${name} was accepted`);
      return problems.find(({ severity }) => severity === "error")?.message ?? "";
    });
    return refused[0];
  });
} finally {
  await stage.close();
}
process.exitCode = steps.end();
