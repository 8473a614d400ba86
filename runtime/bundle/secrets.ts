/**
 * Secrets of the configuration: references to the environment, to files and to a Vault or OpenBao server, and texts
 * sealed to this gateway.
 *
 * Everything is read before compiling starts, because compiling is synchronous. Messages name the reference, never the
 * value.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { open, realpath } from "node:fs/promises";
import { dirname } from "node:path";

import { calculateJwkThumbprint, compactDecrypt, decodeProtectedHeader, type JWK } from "jose";

import type { SecretSource } from "../settings/secret-forms.ts";
import { isVaultReference } from "../settings/vault-reference.ts";
import { GatewayError } from "../shared/errors.ts";
import type { Keys } from "../shared/keys.ts";
import type { Vault } from "../vault/vault.ts";
import { findNamed, locateFile, problemFor, type FileLocation } from "./files/secret-files.ts";
import type { SecretNeeds } from "./build/secret-needs.ts";

/** Values of the needed secrets. `resolve` and `open` throw for those that could not be read. */
export interface ResolvedSecrets extends SecretSource {
  /** Equal for equal values; not reversible. Shows whether anything changed. */
  readonly fingerprint: string;
  /** Reference → why it still has its previous value. */
  readonly late: ReadonlyMap<string, string>;
  /** References whose previous values must not be used either. */
  readonly over: ReadonlySet<string>;
}

export interface SecretDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent without `shared_secret`: no text can be sealed to this gateway. */
  readonly sealing?: Sealing | undefined;
  /** Absent without `vault`: no secrets are read from a server. */
  readonly vault?: Pick<Vault, "read"> | undefined;
  /** A caller waits for the result: retry what a server could not provide a moment ago. */
  readonly again?: boolean;
}

export interface Sealing {
  /** Public key (X25519, with `kid`) to which secrets are sealed: `ECDH-ES+A256KW`, `A256GCM`. */
  readonly publicJwk: JWK;
  /** @throws if the text was not sealed to the current or a previous key */
  open(sealed: string): Promise<string>;
}

const MAX_SECRET_BYTES = 64 * 1024;
/** Limit for tool locks: JSON files that are not secret. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;

type Found =
  | { readonly value: string; readonly late?: string; readonly location?: FileLocation }
  | { readonly failure: string; readonly cause?: unknown; readonly isOver?: true };

export async function readSecrets(needs: SecretNeeds, deps: SecretDeps): Promise<ResolvedSecrets> {
  const found = new Map<string, Found>();
  const late = new Map<string, string>();
  const over = new Set<string>();
  const { files } = needs;
  const before = files && (await findNamed(files));
  const atServer = await readFromServer(needs.refs.filter(isVaultReference), deps);
  for (const ref of needs.refs) {
    const result = atServer.get(ref) ?? (await readReference(ref, deps.env));
    found.set(`ref ${ref}`, result);
    if ("late" in result && result.late !== undefined) late.set(ref, result.late);
    if ("isOver" in result) over.add(ref);
  }
  // A directory replaced during the read must not hide which file was opened.
  const named = files && (await findNamed(files, before));
  for (const sealed of needs.sealed) found.set(`sealed ${sealed}`, await openSealed(sealed, deps.sealing));
  const fingerprint = createHash("sha256");
  for (const [name, result] of found) fingerprint.update(JSON.stringify([name, ...stateOf(result)]));
  return {
    fingerprint: fingerprint.digest("hex"),
    late,
    over,
    resolve(ref, owner) {
      const result = found.get(`ref ${ref}`);
      const value = valueOf(result, `secret "${ref}"`);
      const location = result && "location" in result ? result.location : undefined;
      const problem = files && named && location ? problemFor(owner, ref, location, files, named) : undefined;
      if (problem !== undefined) throw new GatewayError("config.secret", `Cannot read secret "${ref}": ${problem}`);
      return value;
    },
    open: (sealed) => valueOf(found.get(`sealed ${sealed}`), "a sealed secret"),
  };
}

function stateOf(result: Found): readonly unknown[] {
  return "value" in result ? [result.value, result.late ?? null] : [result.isOver === true];
}

function valueOf(result: Found | undefined, name: string): string {
  if (result && "value" in result) return result.value;
  const { failure, cause } = result ?? { failure: "it was not requested in time" };
  throw new GatewayError("config.secret", `Cannot read ${name}: ${failure}`, { cause });
}

async function readFromServer(refs: readonly string[], deps: SecretDeps): Promise<ReadonlyMap<string, Found>> {
  // Also without references: the server client then drops earlier ones.
  if (deps.vault) return deps.vault.read(refs, deps.again);
  return new Map(
    refs.map((ref) => [ref, { failure: 'this process started without "vault" in the main configuration file' }]),
  );
}

async function readReference(ref: string, env: SecretDeps["env"]): Promise<Found> {
  if (ref.startsWith("env:")) {
    const value = env[ref.slice("env:".length)];
    return value === undefined ? { failure: "the environment variable is not set" } : { value };
  }
  if (ref.startsWith("file:/")) return readSecretFile(ref.slice("file:".length));
  return { failure: 'it must begin with "env:", "file:/" or "vault:"' };
}

async function readSecretFile(path: string): Promise<Found> {
  try {
    await using file = await open(path, "r");
    const about = await file.stat();
    if (!about.isFile()) return { failure: "it is not a file" };
    const maxBytes = path.endsWith(".json") ? MAX_JSON_BYTES : MAX_SECRET_BYTES;
    if (about.size > maxBytes) return { failure: `it has more than ${maxBytes} bytes` };
    // Editors and `echo` end a file with a newline that is not part of the secret.
    const value = (await file.readFile("utf8")).replace(/\r?\n$/, "");
    return { value, location: await locateFile(file, path) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      failure: code === "ENOENT" ? "the file does not exist" : `the file cannot be read (${code ?? "error"})`,
      cause: error,
    };
  }
}

/** Directories in which a change of the referenced files is visible, symbolic links followed. */
export async function secretDirectories(refs: readonly string[]): Promise<readonly string[]> {
  const paths = refs.filter((ref) => ref.startsWith("file:/")).map((ref) => ref.slice("file:".length));
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...paths, ...real].map((path) => dirname(path)))];
}

async function openSealed(sealed: string, sealing: Sealing | undefined): Promise<Found> {
  if (!sealing) return { failure: 'this gateway has no "shared_secret", which is needed to decrypt it' };
  try {
    return { value: await sealing.open(sealed) };
  } catch (error) {
    return { failure: "it was not sealed to this gateway's key, or was modified", cause: error };
  }
}

/** Key pairs for sealed secrets, from the current and previous `shared_secret`. */
export async function createSealing(keys: Keys): Promise<Sealing> {
  const pairs = await Promise.all(keys.derive("bundle-secret").map((raw) => keyPair(raw)));
  const [current] = pairs;
  if (!current) throw new GatewayError("keys.no-secret", "Cannot make a sealing key: no key is given");
  return {
    publicJwk: current.publicJwk,
    async open(sealed) {
      const { kid } = decodeProtectedHeader(sealed);
      let failure: unknown = new Error("no key has this id");
      for (const { privateKey, publicJwk } of pairs) {
        if (kid !== undefined && kid !== publicJwk.kid) continue;
        try {
          // Only this gateway chooses the algorithms, never the sender.
          const { plaintext } = await compactDecrypt(sealed, privateKey, {
            keyManagementAlgorithms: ["ECDH-ES+A256KW"],
            contentEncryptionAlgorithms: ["A256GCM"],
          });
          return new TextDecoder("utf-8", { fatal: true }).decode(plaintext);
        } catch (error) {
          failure = error;
        }
      }
      throw failure;
    },
  };
}

/** RFC 8410 §7: what precedes the 32 raw bytes of an X25519 private key in PKCS #8. */
const X25519_PKCS8 = Buffer.from("302e020100300506032b656e04220420", "hex");

async function keyPair(raw: Buffer): Promise<{ readonly privateKey: KeyObject; readonly publicJwk: JWK }> {
  const privateKey = createPrivateKey({ key: Buffer.concat([X25519_PKCS8, raw]), format: "der", type: "pkcs8" });
  const jwk = createPublicKey(privateKey).export({ format: "jwk" }) as JWK;
  return {
    privateKey,
    publicJwk: { ...jwk, kid: await calculateJwkThumbprint(jwk), use: "enc", alg: "ECDH-ES+A256KW" },
  };
}
