/** Each file of settings for a common provider loads, and works at a provider that answers as that one does. */
import { readdirSync, readFileSync } from "node:fs";

import { afterEach, expect, test } from "vitest";
import { parse, stringify } from "yaml";

import { compileSettings } from "../../runtime/config/compile-settings.ts";
import { formatProblem, loadSlices } from "../../runtime/config/load.ts";
import { secretsFrom, TEST_SHARED_SECRET } from "../support/config.ts";
import { APP, benchConfig, CLIENT_SECRET, startSessionBench, type SessionBench } from "../support/session-bench.ts";

const folder = new URL("../../examples/identity-providers/", import.meta.url);
const fragments = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
const textOf = (file: string): string => readFileSync(new URL(file, folder), "utf8");

interface ProviderShape {
  /** `scopes_supported` of its metadata. */
  readonly scopesSupported: readonly string[];
  /** Claims of its users beside `sub` and `name`. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly claimsInIdToken?: boolean;
  /** What a browser is sent there with. */
  readonly asked: Readonly<Record<string, string>>;
  readonly groups: readonly string[];
}

const OFFLINE = "openid profile email offline_access";

/** As their metadata and tokens are documented. */
const PROVIDERS: Readonly<Record<string, ProviderShape>> = {
  "google.yaml": {
    scopesSupported: ["openid", "email", "profile"],
    claims: { groups: undefined, hd: "example.com" },
    asked: { scope: "openid profile email", access_type: "offline", prompt: "consent" },
    groups: [],
  },
  "entra.yaml": {
    scopesSupported: ["openid", "profile", "email", "offline_access"],
    claims: { email_verified: undefined, groups: ["5f1c0a2e-0000-4000-8000-000000000001"] },
    asked: { scope: OFFLINE },
    groups: ["5f1c0a2e-0000-4000-8000-000000000001"],
  },
  "okta.yaml": {
    scopesSupported: ["openid", "email", "profile", "address", "phone", "offline_access", "groups"],
    claims: { groups: ["Everyone"] },
    claimsInIdToken: false,
    asked: { scope: "openid profile email groups offline_access" },
    groups: ["Everyone"],
  },
  "auth0.yaml": {
    scopesSupported: ["openid", "profile", "offline_access", "name", "email", "nickname"],
    claims: { groups: undefined, "https://example.com/groups": ["support"] },
    asked: { scope: OFFLINE },
    groups: ["support"],
  },
  "keycloak.yaml": {
    scopesSupported: ["openid", "profile", "email", "roles", "offline_access"],
    claims: { groups: ["engineering"] },
    asked: { scope: OFFLINE },
    groups: ["engineering"],
  },
  "github.yaml": {
    scopesSupported: ["openid", "email", "groups", "profile", "offline_access"],
    claims: { groups: ["example-org:platform"] },
    asked: { scope: "openid profile email groups offline_access" },
    groups: ["example-org:platform"],
  },
};

let bench: SessionBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

test("each file has its row in the README and its provider here", () => {
  expect(fragments).toEqual(Object.keys(PROVIDERS).sort());
  for (const file of fragments) expect(textOf("README.md")).toContain(`](${file})`);
});

test.each(fragments)("%s is settings without a problem", (file) => {
  const boot = `shared_secret: ${TEST_SHARED_SECRET}\nstorage_url: "memory:"\ninsecure_server: true\n`;
  const { config, problems } = loadSlices([{ file, text: boot + textOf(file), boot: true }]);
  expect(problems.map(formatProblem)).toEqual([]);
  const secrets = secretsFrom({ "env:IDP_CLIENT_SECRET": "from the environment" });
  expect(compileSettings(config?.settings ?? {}, secrets).idp?.clientSecret).toBe("from the environment");
});

test.each(Object.entries(PROVIDERS))("%s signs a user in", async (file, shape) => {
  const { claims, groups, asked, scopesSupported, claimsInIdToken = true } = shape;
  const person = { id: "u-1", email: "person@example.com", name: "Person", groups: [], claims };
  bench = await startSessionBench({ idp: { users: [person], scopesSupported, claimsInIdToken } });
  const settings = {
    ...(parse(textOf(file)) as Record<string, unknown>),
    idp_provider_url: bench.idp.issuer,
    idp_client_id: "gateway",
    idp_client_secret_ref: undefined,
    idp_client_secret: CLIENT_SECRET,
  };
  bench.configure(benchConfig("unused").replaceAll(/^idp_.*\n/gm, "") + stringify(settings));
  const browser = bench.browser();
  const choice = await browser.open(`${APP}/`);
  const sent = choice.hops.map(({ url }) => new URL(url)).find(({ pathname }) => pathname === "/auth");
  for (const [name, value] of Object.entries(asked)) expect(sent?.searchParams.get(name)).toBe(value);
  const page = await browser.click(choice, "u-1");
  expect(JSON.parse(page.text)).toMatchObject({ user: { email: "person@example.com", groups } });
});
