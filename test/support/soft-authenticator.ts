/**
 * A WebAuthn authenticator in software, with the browser around it: it responds as configured, correctly or not. Ours is an
 * attacker's: real ones reject most of what this one can be made to send.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

import { isoCBOR } from "@simplewebauthn/server/helpers";

export interface SoftKey {
  readonly credentialId: Buffer;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  counter: number;
}

export interface Ceremony {
  readonly challenge: string;
  readonly origin: string;
  readonly rpId: string;
}

export interface Deviations {
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly userPresent?: boolean;
  readonly userVerified?: boolean;
  readonly isSynced?: boolean;
  readonly attachment?: string;
  /** In addition to the key's own. */
  readonly counter?: number;
  /** ID in the response, in addition to the signed part. */
  readonly id?: string;
  readonly signature?: Buffer;
  readonly attestation?: {
    readonly fmt: string;
    /** Statement about the authenticator data, which it may sign. */
    readonly statement: (data: Buffer) => Map<string, unknown>;
  };
}

export function makeSoftKey(credentialId: Buffer = randomBytes(16)): SoftKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { credentialId, privateKey, publicKey, counter: 0 };
}

/** The answer of `navigator.credentials.create`, as JSON has it. */
export function registerWith(key: SoftKey, ceremony: Ceremony, how: Deviations = {}): Record<string, unknown> {
  const clientData = clientDataOf("webauthn.create", ceremony, how);
  const data = authenticatorData(key, ceremony.rpId, how, true);
  const statement = how.attestation?.statement(data) ?? new Map<string, unknown>();
  const attestation = isoCBOR.encode(
    new Map<string, unknown>([
      ["fmt", how.attestation?.fmt ?? "none"],
      ["attStmt", statement],
      ["authData", new Uint8Array(data)],
    ]) as never,
  );
  return credentialOf(key, how, {
    clientDataJSON: clientData.toString("base64url"),
    attestationObject: Buffer.from(attestation).toString("base64url"),
    transports: ["internal"],
  });
}

/** The answer of `navigator.credentials.get`. Counts. */
export function proveWith(key: SoftKey, ceremony: Ceremony, how: Deviations = {}): Record<string, unknown> {
  key.counter += 1;
  const clientData = clientDataOf("webauthn.get", ceremony, how);
  const data = authenticatorData(key, ceremony.rpId, how, false);
  const signed = Buffer.concat([data, createHash("sha256").update(clientData).digest()]);
  return credentialOf(key, how, {
    clientDataJSON: clientData.toString("base64url"),
    authenticatorData: data.toString("base64url"),
    signature: (how.signature ?? sign("sha256", signed, key.privateKey)).toString("base64url"),
  });
}

/** Common parts of both responses. */
function credentialOf(key: SoftKey, how: Deviations, response: object): Record<string, unknown> {
  const id = how.id ?? key.credentialId.toString("base64url");
  return {
    id,
    rawId: id,
    type: "public-key",
    authenticatorAttachment: how.attachment ?? "platform",
    clientExtensionResults: {},
    response,
  };
}

function clientDataOf(usual: string, { challenge, origin }: Ceremony, { type, crossOrigin }: Deviations): Buffer {
  return Buffer.from(JSON.stringify({ type: type ?? usual, challenge, origin, crossOrigin: crossOrigin ?? false }));
}

/** WebAuthn §6.1: RP ID hash, flags, counter, and at registration the key. */
function authenticatorData(key: SoftKey, rpId: string, how: Deviations, withKey: boolean): Buffer {
  const { userPresent = true, userVerified = true, isSynced = false } = how;
  const flags = (userPresent ? 1 : 0) | (userVerified ? 4 : 0) | (isSynced ? 8 : 0) | (withKey ? 64 : 0);
  const head = Buffer.alloc(37);
  createHash("sha256").update(rpId).digest().copy(head);
  head.writeUInt8(flags, 32);
  head.writeUInt32BE(how.counter ?? key.counter, 33);
  if (!withKey) return head;
  const length = Buffer.alloc(2);
  length.writeUInt16BE(key.credentialId.length);
  return Buffer.concat([head, Buffer.alloc(16), length, key.credentialId, coseOf(key)]);
}

function coseOf({ publicKey }: SoftKey): Buffer {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64url"));
  const key = new Map<number, unknown>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, bytes(x)],
    [-3, bytes(y)],
  ]);
  return Buffer.from(isoCBOR.encode(key as never));
}
