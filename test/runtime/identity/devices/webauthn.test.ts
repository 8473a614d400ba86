import { createHash, randomBytes, sign } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  proofOptions,
  registrationOptions,
  verifyProof,
  verifyRegistration,
  type Credential,
  type RelyingParty,
} from "../../../../runtime/identity/devices/webauthn.ts";
import type { DeviceRecord } from "../../../../runtime/identity/identity-records.ts";
import { makeSoftKey, proveWith, registerWith, type SoftKey } from "../../../support/soft-authenticator.ts";
import { userId } from "../../../support/users.ts";

const party: RelyingParty = { rpId: "auth.example.com", origin: "https://auth.example.com" };

function ceremony() {
  return { ...party, challenge: randomBytes(32).toString("base64url") };
}

function deviceOf(credential: Credential): DeviceRecord {
  const of = { id: "dev_1", userId: userId("u"), name: "n", rpId: party.rpId, createdAt: 1, usedAt: 1, withdrawals: 0 };
  return { ...of, ...credential };
}

async function registered(key: SoftKey, type: DeviceRecord["type"] = "any"): Promise<DeviceRecord> {
  const of = ceremony();
  const result = await verifyRegistration(party, of.challenge, type, registerWith(key, of));
  if (!result.ok) throw new Error(result.detail);
  return deviceOf(result.credential);
}

describe("registrationOptions()", () => {
  const asked = { challenge: "AAAA", user: { handle: Buffer.alloc(32, 1), name: "alice@example.com" } };

  test("require a verified built-in device for enclave_only, and no attestation", async () => {
    const known = [await registered(makeSoftKey())];
    expect(await registrationOptions(party, { ...asked, type: "enclave_only", known })).toMatchObject({
      challenge: "AAAA",
      rp: { id: "auth.example.com" },
      user: { id: Buffer.alloc(32, 1).toString("base64url"), name: "alice@example.com" },
      attestation: "none",
      authenticatorSelection: {
        authenticatorAttachment: "platform",
        userVerification: "required",
        residentKey: "discouraged",
      },
      excludeCredentials: [{ id: known[0]?.credentialId, transports: ["internal"] }],
    });
  });

  test("leave the kind open for any", async () => {
    const options = await registrationOptions(party, { ...asked, type: "any", known: [] });
    expect(options).toMatchObject({ authenticatorSelection: { userVerification: "preferred" } });
    expect(JSON.stringify(options)).not.toContain("authenticatorAttachment");
  });
});

test("proofOptions() require user verification only if every device supports it", async () => {
  const [built, other] = [await registered(makeSoftKey(), "enclave_only"), await registered(makeSoftKey())];
  const ask = (devices: readonly DeviceRecord[]) => proofOptions(party, { challenge: "AAAA", devices });
  expect(await ask([built])).toMatchObject({ rpId: "auth.example.com", userVerification: "required" });
  expect(await ask([built, other])).toMatchObject({
    userVerification: "preferred",
    allowCredentials: [{ id: built.credentialId }, { id: other.credentialId }],
  });
});

describe("verifyRegistration()", () => {
  test("takes a self attestation, which some devices cannot leave out, when it is good", async () => {
    const key = makeSoftKey();
    const of = ceremony();
    const plain = registerWith(key, of) as { response: { clientDataJSON: string } };
    const clientData = Buffer.from(plain.response.clientDataJSON, "base64url");
    const signed = (data: Buffer): Buffer =>
      sign("sha256", Buffer.concat([data, createHash("sha256").update(clientData).digest()]), key.privateKey);
    for (const [isGood, good] of [
      [true, true],
      [false, false],
    ]) {
      const answer = registerWith(key, of, {
        attestation: {
          fmt: "packed",
          statement: (data) =>
            new Map<string, unknown>([
              ["alg", -7],
              ["sig", new Uint8Array(signed(isGood === true ? data : Buffer.alloc(1)))],
            ]),
        },
      });
      expect((await verifyRegistration(party, of.challenge, "any", answer)).ok).toBe(good);
    }
  });

  test("keeps no transports but those that browsers know", async () => {
    const of = ceremony();
    const answer = registerWith(makeSoftKey(), of) as { response: { transports: unknown } };
    answer.response.transports = ["usb", "carrier pigeon", 1, "x".repeat(9999)];
    const result = await verifyRegistration(party, of.challenge, "any", answer);
    expect(result).toMatchObject({ ok: true, credential: { transports: ["usb"] } });
    answer.response.transports = { length: 1 };
    expect((await verifyRegistration(party, of.challenge, "any", answer)).ok).toBe(false);
  });
});

describe("verifyProof()", () => {
  test.each<readonly [stored: number, shown: number, result: "ok" | "counter"]>([
    [0, 0, "ok"],
    [0, 1, "ok"],
    [5, 6, "ok"],
    [5, 5, "counter"],
    [5, 4, "counter"],
    [5, 0, "counter"],
    [4_294_967_294, 4_294_967_295, "ok"],
  ])("with %d signatures known and %d shown: %s", async (stored, counter, result) => {
    const key = makeSoftKey();
    const device = { ...(await registered(key)), counter: stored };
    const of = ceremony();
    const proven = await verifyProof(party, of.challenge, device, proveWith(key, of, { counter }));
    expect(proven).toMatchObject(result === "ok" ? { ok: true, counter } : { ok: false, reason: "counter" });
  });

  test("reports a copied device only after a valid signature", async () => {
    const key = makeSoftKey();
    const device = { ...(await registered(key)), counter: 9 };
    const of = ceremony();
    const forged = proveWith(key, of, { counter: 1, signature: Buffer.alloc(70, 1) });
    expect(await verifyProof(party, of.challenge, device, forged)).toMatchObject({ ok: false, reason: "invalid" });
  });
});
