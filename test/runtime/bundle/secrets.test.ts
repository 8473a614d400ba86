import { chmodSync } from "node:fs";
import { CompactEncrypt, importJWK } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createSealing, readSecrets } from "../../../runtime/bundle/secrets.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { createConfigFiles, type ConfigFiles } from "../../support/bundle-files.ts";

describe("references", () => {
  let files: ConfigFiles;
  beforeEach(() => {
    files = createConfigFiles();
  });
  afterEach(() => files.close());

  const resolve = async (ref: string, env: Record<string, string> = {}): Promise<string> =>
    (await readSecrets({ refs: [ref], sealed: [] }, { env })).resolve(ref);

  test("env: returns the variable unchanged", async () => {
    expect(await resolve("env:A", { A: " with spaces \n" })).toBe(" with spaces \n");
  });

  test.each([
    ["one newline", "secret\n", "secret"],
    ["a Windows newline", "secret\r\n", "secret"],
    ["no more than one", "secret\n\n", "secret\n"],
    ["nothing else", " secret ", " secret "],
  ])("file: loses %s at its end", async (_, text, secret) => {
    files.write("s", text);
    expect(await resolve(`file:${files.path("s")}`)).toBe(secret);
  });

  test("file: rejects files over 64 KiB and anything other than a file", async () => {
    files.write("large", "x".repeat(65_537));
    await expect(resolve(`file:${files.path("large")}`)).rejects.toMatchObject({ code: "config.secret" });
    await expect(resolve(`file:${files.directory}`)).rejects.toThrow(/it is not a file|cannot be read/);
  });

  test("file: reports a file that may not be read", async () => {
    files.write("s", "x");
    chmodSync(files.path("s"), 0);
    const isRoot = process.geteuid?.() === 0;
    // Root may read everything; for this one look the process is nobody.
    if (isRoot) process.seteuid?.("nobody");
    try {
      await expect(resolve(`file:${files.path("s")}`)).rejects.toThrow("(EACCES)");
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  test.each(["env:MISSING", "file:relative", "http://x", "file:/none/there"])("%s is refused by name", async (ref) => {
    await expect(resolve(ref)).rejects.toMatchObject({
      code: "config.secret",
      message: expect.stringContaining(`"${ref}"`) as string,
    });
  });

  test("a reference that was not announced is rejected", async () => {
    const secrets = await readSecrets({ refs: [], sealed: [] }, { env: { A: "a" } });
    expect(() => secrets.resolve("env:A")).toThrow(/Cannot read secret "env:A"/);
    expect(() => secrets.open("x")).toThrow(/Cannot read a sealed secret/);
  });

  test("the fingerprint changes with the value and does not show it", async () => {
    const needs = { refs: ["env:A"], sealed: [] };
    const [one, same, other, none] = await Promise.all(
      [{ A: "1" }, { A: "1" }, { A: "2" }, {}].map((env: Record<string, string>) => readSecrets(needs, { env })),
    );
    expect(one?.fingerprint).toBe(same?.fingerprint);
    expect(new Set([one, other, none].map((each) => each?.fingerprint)).size).toBe(3);
    expect(one?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("sealed secrets", () => {
  const keys = createKeys([Buffer.alloc(32, 1)]);

  async function seal(header: { alg: string; enc: string; kid?: string }, text = "secret"): Promise<string> {
    const { publicJwk } = await createSealing(keys);
    return new CompactEncrypt(Buffer.from(text))
      .setProtectedHeader(header)
      .encrypt(await importJWK(publicJwk, header.alg));
  }

  test("open with and without `kid`", async () => {
    const sealing = await createSealing(keys);
    const { kid = "" } = sealing.publicJwk;
    expect(await sealing.open(await seal({ alg: "ECDH-ES+A256KW", enc: "A256GCM" }))).toBe("secret");
    expect(await sealing.open(await seal({ alg: "ECDH-ES+A256KW", enc: "A256GCM", kid }))).toBe("secret");
  });

  test.each([
    ["another key agreement", { alg: "ECDH-ES", enc: "A256GCM" }],
    ["another key wrap", { alg: "ECDH-ES+A128KW", enc: "A256GCM" }],
    ["another encryption", { alg: "ECDH-ES+A256KW", enc: "A128CBC-HS256" }],
    ["another key's id", { alg: "ECDH-ES+A256KW", enc: "A256GCM", kid: "foreign" }],
  ])("with %s are refused", async (_, header) => {
    const sealing = await createSealing(keys);
    await expect(sealing.open(await seal(header))).rejects.toThrow();
  });

  test("that were changed or are invalid are rejected without being quoted", async () => {
    const sealing = await createSealing(keys);
    const sealed = await seal({ alg: "ECDH-ES+A256KW", enc: "A256GCM" });
    const changed = sealed.slice(0, -3) + (sealed.endsWith("AAA") ? "BBB" : "AAA");
    const needs = { refs: [], sealed: [changed, "hunter2", ""] };
    const secrets = await readSecrets(needs, { env: {}, sealing });
    for (const text of needs.sealed) {
      expect(() => secrets.open(text)).toThrow(
        "Cannot read a sealed secret: it was not sealed to this gateway's key, or was modified",
      );
    }
  });

  test("require shared_secret, and say so", async () => {
    const secrets = await readSecrets({ refs: [], sealed: ["x"] }, { env: {} });
    expect(() => secrets.open("x")).toThrow(/no "shared_secret"/);
  });

  test("the public key is the same for the same shared_secret, and has no private part", async () => {
    const { publicJwk } = await createSealing(keys);
    expect((await createSealing(createKeys([Buffer.alloc(32, 1)]))).publicJwk).toEqual(publicJwk);
    expect(Object.keys(publicJwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
  });
});
