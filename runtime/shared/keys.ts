/**
 * Every key of the process, derived from `shared_secret` by HKDF with one label per purpose.
 *
 * Trusted input: the secrets in the main configuration file (current first, then previous ones for rotation). Promise:
 * seals made under a previous secret still open; new seals use the current one; a seal made for one purpose or one
 * context (`aad`) opens for no other.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomFillSync,
  timingSafeEqual,
} from "node:crypto";

import { GatewayError } from "./errors.ts";

/** Purposes of keys; each has its own key. */
export const KEY_PURPOSES = [
  "record-arguments",
  "session-cookie",
  "sign-in-ticket",
  "sign-in-nonce",
  "authorization-request",
  "csrf",
  "external-token",
  "refresh-token",
  "refresh-replay",
  "provider-tokens",
  "identity-record",
  "remembered-consent",
  "agent-run",
  "vault",
  "mcp-session",
  "mcp-task",
  "mcp-message-address",
  "bundle-secret",
  "kept-slice",
  "assertion-signing",
  "programmatic-login",
  "device-request",
  "device-challenge",
  "gateway-id",
  "approval",
  "approval-state",
  "audit-signing",
  "forgotten-user",
  "console",
  "secret-id",
  "acme",
  "dpop-nonce",
] as const;

export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** Authenticated encryption for one purpose. */
export interface Sealer {
  /** @returns base64url text: key id (6 bytes), nonce (12), ciphertext, tag (16) */
  seal(plaintext: string | Buffer, aad: string): string;
  /** Deterministic: for names, which are compared. A reader of two seals sees whether they name the same thing. */
  sealAlike(plaintext: string, aad: string): string;
  /** @returns the plaintext, or undefined when the text is foreign, was changed, or was sealed for another `aad` */
  open(sealed: string, aad: string): Buffer | undefined;
}

export interface Keys {
  sealer(purpose: KeyPurpose): Sealer;
  /** Raw 32-byte keys of a purpose, current first. For HMACs and for key material that is not a seal. */
  derive(purpose: KeyPurpose): readonly Buffer[];
}

const KEY_ID_BYTES = 6;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param secrets raw secrets, current first; each at least 32 bytes
 * @throws GatewayError `keys.short-secret`
 */
export function createKeys(secrets: readonly Buffer[]): Keys {
  if (secrets.length === 0) throw new GatewayError("keys.no-secret", "Cannot derive keys: no shared_secret is set");
  for (const secret of secrets) {
    if (secret.length < 32) {
      throw new GatewayError(
        "keys.short-secret",
        `Cannot derive keys: shared_secret has ${secret.length} bytes, must have at least 32`,
      );
    }
  }
  const derived = new Map<KeyPurpose, readonly Buffer[]>();
  const sealers = new Map<KeyPurpose, Sealer>();
  const derive = (purpose: KeyPurpose): readonly Buffer[] => {
    let keys = derived.get(purpose);
    if (!keys) {
      keys = secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret, "gateform", `gateform/${purpose}/v1`, 32)));
      derived.set(purpose, keys);
    }
    return keys;
  };
  return {
    derive,
    sealer(purpose) {
      let sealer = sealers.get(purpose);
      if (!sealer) {
        sealer = createSealer(derive(purpose));
        sealers.set(purpose, sealer);
      }
      return sealer;
    },
  };
}

/** A sealer over explicit 32-byte keys, current first. */
export function createSealer(keys: readonly Buffer[]): Sealer {
  const ids = keys.map((key) => keyId(key));
  // Imported once: importing the bytes for each seal costs a quarter of opening it.
  const secrets = keys.map((key) => createSecretKey(key));
  const current = secrets[0];
  const currentId = ids[0];
  if (!current || !currentId) throw new GatewayError("keys.no-secret", "Cannot make a sealer: no key is given");
  const seal = (plaintext: string | Buffer, aad: string, nonce: Buffer): string => {
    const cipher = createCipheriv("aes-256-gcm", current, nonce);
    cipher.setAAD(Buffer.from(aad));
    const body = typeof plaintext === "string" ? cipher.update(plaintext, "utf8") : cipher.update(plaintext);
    const last = cipher.final();
    return Buffer.concat([currentId, nonce, body, last, cipher.getAuthTag()]).toString("base64url");
  };
  let nonceKey: Buffer | undefined;
  return {
    seal: (plaintext, aad) => seal(plaintext, aad, drawRandom(NONCE_BYTES)),
    sealAlike(plaintext, aad) {
      // One nonce for one text and purpose, and no other: GCM's requirement for a nonce (as in SIV modes, RFC 8452 §4).
      nonceKey ??= createHmac("sha256", keys[0] as Buffer)
        .update("nonce")
        .digest();
      const mac = createHmac("sha256", nonceKey)
        .update(JSON.stringify([aad, plaintext]))
        .digest();
      return seal(plaintext, aad, mac.subarray(0, NONCE_BYTES));
    },
    open(sealed, aad) {
      const bytes = Buffer.from(sealed, "base64url");
      if (bytes.length < KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES) return undefined;
      // One form per seal: Buffer.from skips foreign characters, so a padded or altered text would also open.
      if (bytes.toString("base64url") !== sealed) return undefined;
      const key = keyFor(bytes.subarray(0, KEY_ID_BYTES));
      if (!key) return undefined;
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES));
        decipher.setAAD(Buffer.from(aad));
        decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
        const body = decipher.update(bytes.subarray(KEY_ID_BYTES + NONCE_BYTES, bytes.length - TAG_BYTES));
        // All data is already out: this only checks the tag.
        decipher.final();
        return body;
      } catch {
        // A wrong tag is the normal result for a forged or foreign seal, not an error.
        return undefined;
      }
    },
  };

  function keyFor(id: Buffer): Buffer | undefined {
    const index = ids.findIndex((known) => known.equals(id));
    return index === -1 ? undefined : keys[index];
  }
}

/** Prefix of each seal made with this key. */
export function sealBeginning(key: Buffer): string {
  return keyId(key).toString("base64url");
}

/** Names of the shared secrets, current first. They reveal nothing about the secrets. */
export function secretIds(keys: Keys): readonly string[] {
  return keys.derive("secret-id").map((key) => key.toString("hex", 0, 6));
}

function keyId(key: Buffer): Buffer {
  return createHash("sha256").update("key-id").update(key).digest().subarray(0, KEY_ID_BYTES);
}

/** Compares in a time that does not depend on where they differ. Their lengths are not secret. */
export function sameSecret(given: string | Buffer, expected: string | Buffer): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function bytesOf(secret: string | Buffer): Buffer {
  return typeof secret === "string" ? Buffer.from(secret) : secret;
}

/** SHA-256 as base64url: how codes, tokens and handles are stored. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Unguessable text of `bytes` random bytes, 4,096 at most, base64url. */
export function randomSecret(bytes = 32): string {
  return drawRandom(bytes).toString("base64url");
}

const POOL_BYTES = 4_096;
/** A separate buffer: no other module's data lies next to it. */
const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
let poolAt = POOL_BYTES;

/**
 * Returns each byte once, and erases it here. Fetches many from the system at a time: each fetch creates an object that
 * the garbage collector must finalize while all requests wait, and a flood of sign-ins needs three per sign-in.
 */
function drawRandom(bytes: number): Buffer {
  if (bytes > POOL_BYTES) throw new RangeError(`Cannot draw ${bytes} random bytes at once: ${POOL_BYTES} at most`);
  if (poolAt + bytes > POOL_BYTES) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const end = poolAt + bytes;
  const drawn = Buffer.from(pool.subarray(poolAt, end));
  pool.fill(0, poolAt, end);
  poolAt = end;
  return drawn;
}

/** The same for text that users type into commands: never starts with "-", which would be read as an option. */
export function randomHandle(bytes: number): string {
  for (;;) {
    const handle = randomSecret(bytes);
    if (!handle.startsWith("-")) return handle;
  }
}
