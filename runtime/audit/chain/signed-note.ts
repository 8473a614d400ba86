/**
 * Signed notes as in transparency logs: a text, an empty line, signature lines.
 *
 * Untrusted input: notes to open. Promise: a note that opens was signed, unchanged, by one of the given keys.
 *
 * @see https://c2sp.org/signed-note
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";

/** A signer of notes, with the name of its key. */
export interface NoteSigner {
  /** Public key for verifiers: "<name>+<key id>+<key>". */
  readonly verifierKey: string;
  /** @param text ends in a line end @returns the note */
  sign(text: string): string;
}

export interface NoteVerifier {
  readonly name: string;
  /** 8 lower-case hex digits. */
  readonly keyId: string;
  readonly key: KeyObject;
}

export type OpenedNote =
  | { readonly kind: "signed"; readonly text: string }
  /** Not signed by any of the keys. */
  | { readonly kind: "unknown-key"; readonly text: string }
  | { readonly kind: "bad" };

const ED25519 = 0x01;
const KEY_ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
/** RFC 8410 §7: PKCS #8 around a private key of 32 bytes. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

/** @param seed 32 bytes, the private key of Ed25519 */
export function createNoteSigner(name: string, seed: Uint8Array): NoteSigner {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const typed = Buffer.concat([Buffer.of(ED25519), Buffer.from(x, "base64url")]);
  const id = keyIdOf(name, typed);
  return {
    verifierKey: `${name}+${id.toString("hex")}+${typed.toString("base64")}`,
    sign(text) {
      const signature = sign(null, Buffer.from(text), privateKey);
      return `${text}\n— ${name} ${Buffer.concat([id, signature]).toString("base64")}\n`;
    },
  };
}

/** @returns undefined for an invalid key, and for another kind than Ed25519 */
export function parseVerifierKey(written: string): NoteVerifier | undefined {
  const [, name = "", keyId = "", encoded = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(written) ?? [];
  const typed = Buffer.from(encoded, "base64");
  if (typed.length !== 33 || typed[0] !== ED25519 || keyIdOf(name, typed).toString("hex") !== keyId) return undefined;
  const jwk = { kty: "OKP", crv: "Ed25519", x: typed.subarray(1).toString("base64url") };
  return { name, keyId, key: createPublicKey({ key: jwk, format: "jwk" }) };
}

/** SHA-256 over name, line end, type and key; its first four bytes. */
function keyIdOf(name: string, typed: Uint8Array): Buffer {
  return hash("sha256", Buffer.concat([Buffer.from(`${name}\n`), typed]), "buffer").subarray(0, KEY_ID_BYTES);
}

/** Signatures of unknown keys are skipped; an invalid one of a known key rejects the note. */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const end = note.lastIndexOf("\n\n");
  if (end === -1 || !note.endsWith("\n")) return { kind: "bad" };
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2, -1).split("\n");
  let isSigned = false;
  for (const line of lines) {
    const [, name, encoded = ""] = /^— ([^\s+]+) ([A-Za-z0-9+/]+=*)$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, "base64");
    // One encoding for each: Buffer.from is lenient about the last bits.
    if (name === undefined || bytes.length <= KEY_ID_BYTES || bytes.toString("base64") !== encoded)
      return { kind: "bad" };
    const keyId = bytes.toString("hex", 0, KEY_ID_BYTES);
    const verifier = verifiers.find((known) => known.name === name && known.keyId === keyId);
    if (!verifier) continue;
    const signature = bytes.subarray(KEY_ID_BYTES);
    if (signature.length !== SIGNATURE_BYTES || !verify(null, Buffer.from(text), verifier.key, signature)) {
      return { kind: "bad" };
    }
    isSigned = true;
  }
  return { kind: isSigned ? "signed" : "unknown-key", text };
}
