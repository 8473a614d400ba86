/** How the gateway proves to an identity provider that it is its client. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";

import * as jose from "jose";
import { afterEach, describe, expect, test } from "vitest";

import { createOperatorFetch } from "../../../../runtime/http/fetch/operator-fetch.ts";
import { snapshotFrom } from "../../../support/config.ts";
import {
  APP,
  benchConfig,
  CLIENT_SECRET,
  startSessionBench,
  type SessionBench,
} from "../../../support/session-bench.ts";

let bench: SessionBench;
afterEach(() => bench.close());

/**
 * Requests to the token endpoint during a sign-in.
 * @param secret replaces the line of `idp_client_secret`
 * @param metadata additional or changed metadata of the provider
 */
async function sent(
  secret: string,
  metadata: Readonly<Record<string, string>> = {},
): Promise<{ readonly form: URLSearchParams; readonly authorization: string | null }> {
  const fetch = createOperatorFetch();
  let form = new URLSearchParams();
  let authorization: string | null = null;
  bench = await startSessionBench({
    fetch: async (url, init) => {
      if (url.endsWith("/openid-configuration"))
        return Response.json({ ...((await (await fetch(url, init)).json()) as object), ...metadata });
      if (!url.endsWith("/token")) return fetch(url, init);
      form = new URLSearchParams(init?.body as URLSearchParams);
      authorization = new Headers(init?.headers).get("authorization");
      return Response.json({ error: "invalid_client", error_description: "Invalid client" }, { status: 401 });
    },
  });
  bench.configure(benchConfig(bench.idp.issuer).replace(/^idp_client_secret: .*$/m, secret));
  expect((await bench.browser().signIn(`${APP}/`, "alice@example.com")).status).toBe(502);
  return { form, authorization };
}

const pem = (key: KeyObject): string => JSON.stringify(key.export({ type: "pkcs8", format: "pem" }));

describe("the gateway proves itself at the provider", () => {
  test.each([
    ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["Ed25519", generateKeyPairSync("ed25519")],
  ])("with a private key, %s", async (algorithm, { privateKey, publicKey }) => {
    const { form, authorization } = await sent(`idp_client_key: ${pem(privateKey)}`);
    const { payload, protectedHeader } = await jose.jwtVerify(form.get("client_assertion") ?? "", publicKey, {
      issuer: "gateway",
      subject: "gateway",
      audience: bench.idp.issuer,
    });
    expect([protectedHeader.alg, typeof payload.jti, typeof payload.exp]).toEqual([algorithm, "string", "number"]);
    expect(protectedHeader).not.toHaveProperty("kid");
    expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    expect([form.get("client_secret"), authorization]).toEqual([null, null]);
    expect(bench.logged()).toContain(
      "; check idp_client_id, idp_client_key, idp_client_key_id and idp_client_proof_audience",
    );
  });

  test.each(["idp_client_key: KEY", `idp_client_secret: ${CLIENT_SECRET}\nidp_client_auth: client_secret_jwt`])(
    "for the token endpoint where the setting says so: %s",
    async (secret) => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const { form } = await sent(
        `${secret.replace("KEY", pem(privateKey))}\nidp_client_proof_audience: token_endpoint`,
      );
      expect(jose.decodeJwt(form.get("client_assertion") ?? "").aud).toBe(`${bench.idp.issuer}/token`);
    },
  );

  test("with a key ID that distinguishes several keys", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { form } = await sent(`idp_client_key: ${pem(privateKey)}\nidp_client_key_id: second`);
    expect(jose.decodeProtectedHeader(form.get("client_assertion") ?? "").kid).toBe("second");
  });

  test("never for a token endpoint at another origin, which may be another provider's", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const settings = `idp_client_key: ${pem(privateKey)}\nidp_client_proof_audience: token_endpoint`;
    const { form } = await sent(settings, { token_endpoint: "https://other.example.com/token" });
    expect(form.has("client_assertion")).toBe(false);
    expect(bench.logged()).toContain(
      "the token endpoint has another origin than the issuer; check idp_client_proof_audience",
    );
  });

  test("with a proof that its secret signs", async () => {
    const { form, authorization } = await sent(
      `idp_client_secret: ${CLIENT_SECRET}\nidp_client_auth: client_secret_jwt`,
    );
    const key = new TextEncoder().encode(CLIENT_SECRET);
    await jose.jwtVerify(form.get("client_assertion") ?? "", key, { subject: "gateway", audience: bench.idp.issuer });
    expect([form.get("client_secret"), authorization]).toEqual([null, null]);
  });

  test("with the secret in the form, although the provider also accepts the header", async () => {
    const { form, authorization } = await sent(
      `idp_client_secret: ${CLIENT_SECRET}\nidp_client_auth: client_secret_post`,
    );
    expect([form.get("client_secret"), authorization]).toEqual([CLIENT_SECRET, null]);
  });

  test("with a separate key at another provider, and never with a weak key", async () => {
    bench = await startSessionBench();
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const partner = (key: string): string =>
      benchConfig(
        bench.idp.issuer,
        `identity_issuers: { partner: { issuer: "https://partner.example.com", uses: [sign_in], sign_in: { client_id: us, client_key: ${key} } } }`,
      );
    const { settings } = snapshotFrom(partner(pem(privateKey)));
    expect(settings.providers.map(({ clientKey }) => clientKey?.way)).toContainEqual({
      name: "ECDSA",
      namedCurve: "P-384",
    });
    const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
    expect(() => snapshotFrom(partner(pem(weak.privateKey)))).toThrow(
      /"client_key" of "identity_issuers.partner.sign_in"/,
    );
  });
});
