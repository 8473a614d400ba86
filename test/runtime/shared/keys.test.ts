import { describe, expect, test } from "vitest";

import { createKeys, createSealer, KEY_PURPOSES, randomHandle, randomSecret } from "../../../runtime/shared/keys.ts";

test("randomHandle() never looks like an option of a command", () => {
  const handles = Array.from({ length: 3_000 }, () => randomHandle(16));
  expect(handles.filter((handle) => !/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/.test(handle))).toEqual([]);
  expect(new Set(handles).size).toBe(3_000);
});

test("randomSecret() returns the requested number of bytes, and never the same twice", () => {
  const sizes = Array.from({ length: 3_000 }, (_, index) => 12 + (index % 37));
  const secrets = [4_096, ...sizes, 4_096].map((size) => Buffer.from(randomSecret(size), "base64url"));
  expect(secrets.map(({ length }) => length)).toEqual([4_096, ...sizes, 4_096]);
  expect(new Set(secrets.map((bytes) => bytes.toString("hex", 0, 12))).size).toBe(secrets.length);
  expect(new Set(secrets.map((bytes) => bytes.toString("hex", bytes.length - 12))).size).toBe(secrets.length);
});

describe("createKeys()", () => {
  test.each([
    ["no secret", [], "keys.no-secret"],
    ["a secret of 31 bytes", [31], "keys.short-secret"],
    ["a previous secret of 31 bytes", [32, 31], "keys.short-secret"],
  ])("rejects %s", (_, lengths, code) => {
    expect(() => createKeys(lengths.map((length) => Buffer.alloc(length, 1)))).toThrow(
      expect.objectContaining({ code }),
    );
  });

  test("has a key of its own for each purpose and secret", () => {
    const keys = createKeys([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
    const all = KEY_PURPOSES.flatMap((purpose) => keys.derive(purpose).map((key) => key.toString("hex")));
    expect(new Set(all).size).toBe(2 * KEY_PURPOSES.length);
    expect(KEY_PURPOSES.filter((purpose) => !/^[a-z]+(?:-[a-z]+)*$/.test(purpose))).toEqual([]);
  });
});

test("a seal of an earlier version opens: its form and the keys are what they were", () => {
  const sealer = createKeys([Buffer.alloc(32, 1)]).sealer("session-cookie");
  const sealed = "W-32KWfNJ7cbRCP3d0TUjF2_-OLYM3aIukfCCIvIWDhIL4QuyWE";
  expect(sealer.sealAlike("text", "aad")).toBe(sealed);
  expect(sealer.open(sealed, "aad")?.toString()).toBe("text");
  expect(sealer.open(sealed, "other")).toBeUndefined();
  expect(createSealer([Buffer.alloc(32, 1)]).open(sealed, "aad")).toBeUndefined();
});
