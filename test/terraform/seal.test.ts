import { generateKeyPairSync } from "node:crypto";

import { compactDecrypt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";

import { createSealing } from "../../runtime/bundle/secrets.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { sealedFor } from "../../runtime/settings/secret-forms.ts";
import { checkSealKey, sealSecret } from "../../runtime/terraform/resource/seal.ts";

const SECRET = "correct-horse-battery-staple";

describe("sealSecret()", () => {
  test("makes a seal that only the gateway of that key opens", async () => {
    const gateway = await createSealing(createKeys([Buffer.alloc(32, 1)]));
    const other = await createSealing(createKeys([Buffer.alloc(32, 2)]));
    const key = JSON.stringify(gateway.publicJwk);
    expect(checkSealKey(key)).toEqual({ ok: true });
    const sealed = await sealSecret(key, SECRET);
    expect(sealed).not.toContain(SECRET);
    expect(decodeProtectedHeader(sealed).kid).toBe(gateway.publicJwk.kid);
    expect(await gateway.open(sealed)).toBe(SECRET);
    await expect(other.open(sealed)).rejects.toThrow();
  });

  test("takes a P-256 key as well", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const sealed = await sealSecret(JSON.stringify(publicKey.export({ format: "jwk" })), SECRET);
    expect(Buffer.from((await compactDecrypt(sealed, privateKey)).plaintext).toString()).toBe(SECRET);
  });

  test("names its owner in an authenticated header", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const sealed = await sealSecret(JSON.stringify(publicKey.export({ format: "jwk" })), SECRET, "team");
    expect(sealedFor(sealed)).toBe("team");
    const [header = "", ...rest] = sealed.split(".");
    const fields = JSON.parse(Buffer.from(header, "base64url").toString()) as object;
    for (const changed of [
      { ...fields, owner: "other" },
      { ...fields, owner: undefined },
    ]) {
      const forged = [Buffer.from(JSON.stringify(changed)).toString("base64url"), ...rest].join(".");
      await expect(compactDecrypt(forged, privateKey)).rejects.toThrow();
    }
    expect(Buffer.from((await compactDecrypt(sealed, privateKey)).plaintext).toString()).toBe(SECRET);
  });

  test("names neither key nor secret when it fails", async () => {
    const failure = await sealSecret('{"kty":"OKP","crv":"X25519","x":"short"}', SECRET).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: "terraform.seal" });
    expect(String(failure)).not.toContain(SECRET);
  });
});

describe("checkSealKey()", () => {
  const { privateKey } = generateKeyPairSync("x25519");

  test.each([
    ["text that is no JSON", "key", "JWK"],
    ["null", "null", "JWK"],
    ["a symmetric key", '{"kty":"oct","k":"AAAA"}', "X25519"],
    ["a curve that is not used", '{"kty":"EC","crv":"P-384","x":"a","y":"b"}', "P-256"],
    ["a private key", JSON.stringify(privateKey.export({ format: "jwk" })), "public key and not the private one"],
  ])("refuses %s", (_name, key, problem) => {
    expect(checkSealKey(key)).toEqual({ ok: false, problem: expect.stringContaining(problem) as string });
  });
});
