/**
 * WebAuthn ceremonies: options for the browser, and verification of its responses. The only file that uses the library.
 *
 * Untrusted input: the responses. Promises: challenge, origin and RP ID match exactly. Counters increase.
 * `enclave_only` means a built-in device that verified its user and does not copy the key elsewhere, as far as a
 * browser can tell.
 *
 * Attestations are neither requested nor verified: verification fetches URLs named in them, so any user could make the
 * gateway request any URL.
 *
 * @see WebAuthn Level 3 §7.1 (registration), §7.2 (authentication)
 */
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";

import { errorText } from "../../shared/errors.ts";
import type { DeviceRecord } from "../identity-records.ts";

/** Site of the ceremonies. */
export interface RelyingParty {
  /** Host name to which keys are bound. */
  readonly rpId: string;
  /** "https://auth.example.com" */
  readonly origin: string;
}

export type Credential = Pick<
  DeviceRecord,
  "credentialId" | "publicKey" | "counter" | "transports" | "isSynced" | "type"
>;

export type RegisteredDevice =
  | { readonly ok: true; readonly credential: Credential }
  | { readonly ok: false; readonly reason: "invalid" | "not-built-in" | "synced"; readonly detail: string };

export type Proven =
  | { readonly ok: true; readonly counter: number }
  | { readonly ok: false; readonly reason: "invalid" | "counter"; readonly detail: string };

/** Loaded at the first ceremony: gateways without devices never need it. */
const library = () => import("@simplewebauthn/server");
const helpers = () => import("@simplewebauthn/server/helpers");

/** ES256, EdDSA, RS256 (COSE). */
const ALGORITHMS = [-7, -8, -257];
/** Time to find a key or a phone. */
const TIMEOUT_MS = 300_000;

/** @returns JSON for `PublicKeyCredential.parseCreationOptionsFromJSON` */
export async function registrationOptions(
  party: RelyingParty,
  options: {
    readonly challenge: string;
    readonly type: DeviceRecord["type"];
    readonly user: { readonly handle: Buffer; readonly name: string };
    /** The user's registered devices, which cannot be registered again. */
    readonly known: readonly DeviceRecord[];
  },
): Promise<object> {
  const { generateRegistrationOptions } = await library();
  const isEnclave = options.type === "enclave_only";
  return generateRegistrationOptions({
    rpName: party.rpId,
    rpID: party.rpId,
    userID: new Uint8Array(options.user.handle),
    userName: options.user.name,
    userDisplayName: options.user.name,
    challenge: toBytes(options.challenge),
    timeout: TIMEOUT_MS,
    attestationType: "none",
    excludeCredentials: options.known.map(descriptor),
    // Not discoverable: the gateway knows the user, and such keys usually stay on their device.
    authenticatorSelection: {
      residentKey: "discouraged",
      userVerification: isEnclave ? "required" : "preferred",
      ...(isEnclave ? { authenticatorAttachment: "platform" as const } : {}),
    },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** @returns JSON for `PublicKeyCredential.parseRequestOptionsFromJSON` */
export async function proofOptions(
  party: RelyingParty,
  options: { readonly challenge: string; readonly devices: readonly DeviceRecord[] },
): Promise<object> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: party.rpId,
    challenge: toBytes(options.challenge),
    timeout: TIMEOUT_MS,
    allowCredentials: options.devices.map(descriptor),
    userVerification: options.devices.every(({ type }) => type === "enclave_only") ? "required" : "preferred",
  });
}

/** @param answer as the page sent it */
export async function verifyRegistration(
  party: RelyingParty,
  challenge: string,
  type: DeviceRecord["type"],
  answer: unknown,
): Promise<RegisteredDevice> {
  const isEnclave = type === "enclave_only";
  try {
    const response = answer as RegistrationResponseJSON;
    const { verifyRegistrationResponse } = await library();
    await refuseAttestation(response);
    await refuseFrame(response.response.clientDataJSON);
    const result = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.rpId,
      requireUserVerification: isEnclave,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!result.verified) return { ok: false, reason: "invalid", detail: "not verified" };
    const { credential, credentialDeviceType } = result.registrationInfo;
    // MUST, WebAuthn §7.1: the stored credential is the one that the authenticator signed for.
    if (credential.id !== response.id) return { ok: false, reason: "invalid", detail: "two credential ids" };
    const isSynced = credentialDeviceType === "multiDevice";
    if (isEnclave && response.authenticatorAttachment !== "platform")
      return { ok: false, reason: "not-built-in", detail: "not a platform authenticator" };
    if (isEnclave && isSynced) return { ok: false, reason: "synced", detail: "a key that may be copied" };
    return {
      ok: true,
      credential: {
        credentialId: credential.id,
        publicKey: Buffer.from(credential.publicKey).toString("base64url"),
        counter: credential.counter,
        transports: (credential.transports ?? []).filter((each) => TRANSPORTS.has(each)),
        isSynced,
        type,
      },
    };
  } catch (error) {
    // The library throws for every invalid response, and so does parsing one that is malformed.
    return { ok: false, reason: "invalid", detail: errorText(error) };
  }
}

/** @param answer as the page sent it, with the credential of this device */
export async function verifyProof(
  party: RelyingParty,
  challenge: string,
  device: DeviceRecord,
  answer: unknown,
): Promise<Proven> {
  try {
    const response = answer as AuthenticationResponseJSON;
    const { verifyAuthenticationResponse } = await library();
    await refuseFrame(response.response.clientDataJSON);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.rpId,
      // The counter is compared below, to distinguish a copied device from an invalid response.
      credential: { id: device.credentialId, publicKey: toBytes(device.publicKey), counter: 0 },
      requireUserVerification: device.type === "enclave_only",
    });
    if (!verified) return { ok: false, reason: "invalid", detail: "the signature is not the device's" };
    const { newCounter: counter, credentialDeviceType } = authenticationInfo;
    // MUST, WebAuthn §7.2: a key is created as copyable or not, and never changes.
    if ((credentialDeviceType === "multiDevice") !== device.isSynced)
      return { ok: false, reason: "invalid", detail: "the key is of another kind than registered" };
    // WebAuthn §6.1.1: a counter that does not increase indicates two devices with the same key. Zero means: not counted.
    if ((counter !== 0 || device.counter !== 0) && counter <= device.counter)
      return { ok: false, reason: "counter", detail: `counts ${counter} after ${device.counter}` };
    return { ok: true, counter };
  } catch (error) {
    return { ok: false, reason: "invalid", detail: errorText(error) };
  }
}

/** Credential id of a response; undefined if it is malformed. */
export function credentialIdOf(answer: unknown): string | undefined {
  const id = (answer as { readonly id?: unknown } | null)?.id;
  return typeof id === "string" ? id : undefined;
}

/** @throws for any attestation except none and self attestation, which some devices always send; it contains no URL */
async function refuseAttestation(response: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject, isoBase64URL } = await helpers();
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.response.attestationObject));
  const format = attestation.get("fmt");
  if (format === "none" || (format === "packed" && attestation.get("attStmt").get("x5c") === undefined)) return;
  throw new Error(`an attestation of format ${JSON.stringify(format)}, which was not asked for`);
}

/** @throws if the ceremony took place in a frame of another site; our pages are never framed */
async function refuseFrame(clientData: string): Promise<void> {
  const { decodeClientDataJSON } = await helpers();
  const { crossOrigin, topOrigin } = decodeClientDataJSON(clientData);
  if (crossOrigin === true || topOrigin !== undefined) throw new Error("a ceremony in a frame of another site");
}

const TRANSPORTS: ReadonlySet<string> = new Set(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]);

function descriptor({ credentialId, transports }: DeviceRecord): { id: string; transports: AuthenticatorTransport[] } {
  return { id: credentialId, transports: transports as AuthenticatorTransport[] };
}

function toBytes(base64url: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64url, "base64url"));
}
