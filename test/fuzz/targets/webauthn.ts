/** Answers of devices: what registers was made here, for this host and challenge; what proves nothing is refused, not thrown. */
import { createHash } from "node:crypto";

import type { DeviceRecord } from "../../../runtime/identity/identity-records.ts";
import { credentialIdOf, verifyProof, verifyRegistration } from "../../../runtime/identity/devices/webauthn.ts";
import { jsonOf, must, mustEqual, utf8 } from "../oracle.ts";

const PARTY = { rpId: "auth.example.com", origin: "https://auth.example.com" };
export const CHALLENGE = "Y2hhbGxlbmdlLW9mLXRlc3Rz";

/** A key that nobody has: nothing proves it. */
const DEVICE = {
  credentialId: "AAAA",
  publicKey: "pQECAyYgASFYIA",
  counter: 0,
  isSynced: false,
  type: "any",
} as DeviceRecord;

interface Answer {
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string };
}

export async function fuzz(data: Uint8Array): Promise<void> {
  const answer = jsonOf(utf8(data));
  const id = credentialIdOf(answer);
  const registered = await verifyRegistration(PARTY, CHALLENGE, "any", answer);
  const proven = await verifyProof(PARTY, CHALLENGE, DEVICE, answer);
  must(!proven.ok, "proven with a key that nobody has");
  if (!registered.ok) return;
  mustEqual(registered.credential.credentialId, id, "another credential than its answer's");
  const { clientDataJSON, attestationObject } = (answer as Answer).response;
  const client = JSON.parse(utf8(Buffer.from(clientDataJSON, "base64url"))) as Record<string, unknown>;
  mustEqual(
    [client["type"], client["challenge"], client["origin"], client["crossOrigin"] ?? false],
    ["webauthn.create", CHALLENGE, PARTY.origin, false],
    "made for something else",
  );
  const host = createHash("sha256").update(PARTY.rpId).digest();
  must(Buffer.from(attestationObject, "base64url").includes(host), "made for another host");
}
