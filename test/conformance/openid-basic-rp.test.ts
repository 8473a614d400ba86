/**
 * The OpenID Foundation's plan "oidcc-client-basic-certification-test-plan" (relying party, basic profile; static client,
 * code flow), rebuilt by the names of its modules: the suite itself is a Java program with a database and cannot run here.
 *
 * @see https://openid.net/certification/connect_rp_testing/
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { createBrowser } from "../support/scripted-browser.ts";
import { CLIENT, type Fault, type OpenIdProvider, startOpenIdProvider, USER } from "./openid-provider.ts";

type Json = Readonly<Record<string, unknown>>;

const without =
  (name: string) =>
  (value: Json): Json =>
    Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
const withoutKeyIds = (keys: readonly Json[]): readonly Json[] => keys.map(without("kid"));

interface Module {
  readonly name: string;
  /** What the relying party has to do. */
  readonly signsIn: boolean;
  readonly fault: Fault;
  /** Where it is refused; the provider's word is a refusal, what looks like the provider's trouble may be tried again. */
  readonly answer?: string;
}

/** In the plan's order; "missing-aud" is of its former edition. */
const MODULES: readonly Module[] = [
  { name: "oidcc-client-test", signsIn: true, fault: {} },
  {
    name: "oidcc-client-test-invalid-iss",
    signsIn: false,
    fault: { claims: (claims) => ({ ...claims, iss: `${String(claims["iss"])}invalid` }) },
  },
  { name: "oidcc-client-test-missing-sub", signsIn: false, fault: { claims: without("sub") } },
  {
    name: "oidcc-client-test-invalid-aud",
    signsIn: false,
    fault: { claims: (claims) => ({ ...claims, aud: "another-client" }) },
  },
  { name: "oidcc-client-test-missing-aud", signsIn: false, fault: { claims: without("aud") } },
  { name: "oidcc-client-test-missing-iat", signsIn: false, fault: { claims: without("iat") } },
  {
    name: "oidcc-client-test-kid-absent-single-jwks",
    signsIn: true,
    fault: { header: without("kid"), keys: (keys) => withoutKeyIds(keys.slice(0, 1)) },
  },
  // The suite lets a relying party try all keys or refuse: which key is meant is not said.
  {
    name: "oidcc-client-test-kid-absent-multiple-jwks",
    signsIn: false,
    fault: { header: without("kid"), keys: withoutKeyIds },
    answer: "503 sign-in.unavailable",
  },
  { name: "oidcc-client-test-idtoken-sig-rs256", signsIn: true, fault: {} },
  // Optional for relying parties that take unsigned tokens; this one takes none.
  {
    name: "oidcc-client-test-idtoken-sig-none",
    signsIn: false,
    fault: { header: () => ({ alg: "none" }), signature: () => "" },
  },
  {
    name: "oidcc-client-test-invalid-sig-rs256",
    signsIn: false,
    fault: { signature: () => Buffer.alloc(256, 0x5a).toString("base64url") },
  },
  {
    name: "oidcc-client-test-userinfo-invalid-sub",
    signsIn: false,
    fault: { userinfo: (claims) => ({ ...claims, sub: `${USER.sub}invalid` }) },
  },
  {
    name: "oidcc-client-test-nonce-invalid",
    signsIn: false,
    fault: { claims: (claims) => ({ ...claims, nonce: `${String(claims["nonce"])}invalid` }) },
  },
  { name: "oidcc-client-test-scope-userinfo-claims", signsIn: true, fault: {} },
  { name: "oidcc-client-test-client-secret-basic", signsIn: true, fault: {} },
];

let upstream: EchoUpstream;
let provider: OpenIdProvider;
let gateway: TestGateway;

const settings = (module: string): string => `
idp_provider_url: ${provider.issuerOf(module)}
idp_client_id: ${CLIENT.id}
idp_client_secret: ${JSON.stringify(CLIENT.secret)}
routes:
  - name: app
    from: "{origin}"
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ email: { is: ${USER.email} } }] } }]
`;

beforeAll(async () => {
  const port = await freePort();
  upstream = await startEchoUpstream();
  const faults = Object.fromEntries(MODULES.map(({ name, fault }) => [name, fault]));
  provider = await startOpenIdProvider(`http://localhost:${port}/.gateway/callback`, faults);
  gateway = await startGateway({ port, yaml: settings("before-the-first") });
});
afterAll(async () => {
  await gateway?.close();
  await provider?.close();
  await upstream?.close();
});

test.each(MODULES)("$name", async ({ name, signsIn, answer = "403 sign-in.refused" }) => {
  await gateway.reconfigure(settings(name));
  const browser = createBrowser();
  const page = await browser.open(`${gateway.origin}/`);
  // Every module gets as far as the token: what is wrong is in the answer.
  expect(provider.asked(name)).toEqual(expect.arrayContaining(["/authorize", "/token"]));
  if (signsIn) {
    // By the address, which only the userinfo endpoint tells.
    expect(page.status, page.text.slice(0, 400)).toBe(200);
    expect(provider.asked(name)).toContain("/userinfo");
  } else {
    const [code] = /sign-in\.[a-z-]+/.exec(page.text) ?? [];
    expect(`${page.status} ${code}`).toBe(answer);
    // A token that came with a bad ID token is used for nothing.
    expect(provider.asked(name).includes("/userinfo")).toBe(name === "oidcc-client-test-userinfo-invalid-sub");
    const again = await browser.open(`${gateway.origin}/`, { follow: false });
    expect(again.status).toBe(302);
    expect(again.headers.location).toContain("sign_in");
  }
});
