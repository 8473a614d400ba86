import { describe, expect, test } from "vitest";

import {
  isVaultReferencePattern,
  parseVaultReference,
  withoutVersion,
} from "../../../runtime/settings/vault-reference.ts";
import { checkReference } from "../../../runtime/settings/types/checks.ts";
import { placeOf } from "../../../runtime/vault/read-entry.ts";

describe("parseVaultReference()", () => {
  test.each([
    ["vault:kv/app#key", { segments: ["kv", "app"], field: "key" }],
    [
      "vault:kv/team-a/prod/app.v1#tls.crt@12",
      { segments: ["kv", "team-a", "prod", "app.v1"], field: "tls.crt", version: 12 },
    ],
    ["vault:kv/a@b:c~d+e=f#k", { segments: ["kv", "a@b:c~d+e=f"], field: "k" }],
    ["vault:kv/...#k", { segments: ["kv", "..."], field: "k" }],
  ])("reads %s", (reference, parsed) => {
    expect(parseVaultReference(reference)).toEqual(parsed);
    expect(checkReference(reference)).toBeUndefined();
  });

  test.each([
    "vault:",
    "vault:kv#k",
    "vault:/app#k",
    "vault:kv/#k",
    "vault:kv/app",
    "vault:kv/app#",
    "vault:kv/app#k#l",
    "vault:kv/app#k@",
    "vault:kv/app#k@0",
    "vault:kv/app#k@01",
    "vault:kv/app#k@1@2",
    "vault:kv/app#k@latest",
    "vault:kv/app#k@9999999999",
    "vault:kv//app#k",
    "vault:kv/./app#k",
    "vault:kv/../app#k",
    "vault:../kv/app#k",
    "vault:kv/%2e%2e/app#k",
    "vault:kv/app%2fx#k",
    "vault:kv/a b#k",
    "vault:kv/app?version=1#k",
    "vault:kv/app*#k",
    "vault:kv\\app#k",
    "vault:kv/app#k/l",
    "vault:kv/app#k\n",
    "vault:kv/app\n#k",
    "vault:kv/äpp#k",
    "VAULT:kv/app#k",
    " vault:kv/app#k",
  ])("refuses %j", (reference) => {
    expect(parseVaultReference(reference)).toBeUndefined();
    expect(checkReference(reference)).toBeDefined();
  });

  test("one text is one location, wherever the mount ends: the path below /v1/ is exactly the reference's", () => {
    const place = (reference: string): string | undefined => {
      const parsed = parseVaultReference(reference);
      return parsed && placeOf(parsed, { mounts: [["team", "kv"]] }).path;
    };
    expect(place("vault:kv/data/app#k")).toBe("kv/data/data/app");
    expect(place("vault:team/kv#k")).toBe("team/data/kv");
    expect(place("vault:team/kv/app#k@3")).toBe("team/kv/data/app?version=3");
    expect(place("vault:kv/a@b:c~d+e=f#k")).toBe("kv/data/a%40b%3Ac~d%2Be%3Df");
  });
});

/** Who may read what is decided by the text, so no other text may lead to the same place. */
describe("one location has one text", () => {
  const mounts = [["team", "kv"]];
  const placeAt = (reference: string): string | undefined => {
    const parsed = parseVaultReference(reference);
    return parsed && placeOf(parsed, { mounts }).path;
  };

  test("different texts lead to different locations", () => {
    const segments = ["team", "kv", "data", "Kv", "app", "app.", "a@1", "..."];
    let paths: readonly string[] = segments;
    const places = new Map<string, string>();
    for (let length = 2; length <= 4; length += 1) {
      paths = paths.flatMap((path) => segments.map((segment) => `${path}/${segment}`));
      for (const path of paths) {
        const place = placeAt(`vault:${path}#k`) ?? "none";
        expect(places.get(place) ?? path).toBe(path);
        places.set(place, path);
      }
    }
    expect(places.size).toBe(8 ** 2 + 8 ** 3 + 8 ** 4);
  });

  test.each([
    "vault:team//kv/app#k",
    "vault:team/kv//app#k",
    "vault:team/kv/x/../app#k",
    "vault:team/kv/./app#k",
    "vault:team/kv/app/#k",
    "vault:/team/kv/app#k",
    "vault:team/kv/%61pp#k",
    "vault:team%2fkv/app#k",
    "vault:team/kv/app%23k#k",
    "Vault:team/kv/app#k",
    "vault:team/kv/app#k@00",
  ])("%s is none", (reference) => {
    expect(placeAt("vault:team/kv/app#k")).toBe("team/kv/data/app");
    expect(checkReference(reference)).toBeDefined();
  });

  test("letter case distinguishes locations, as at the server", () => {
    expect(placeAt("vault:team/kv/App#k")).not.toBe(placeAt("vault:team/kv/app#k"));
    expect(placeAt("vault:Team/kv/app#k")).not.toBe(placeAt("vault:team/kv/app#k"));
  });
});

test.each([
  ["vault:kv/*", true],
  ["vault:kv/team-a*", true],
  ["vault:kv/team-a/*", true],
  ["vault:kv/team-a#*", true],
  ["vault:kv/team-a#db_*", true],
  ["vault:kv/team-a#key", true],
  ["vault:kv/team-a#key@3", true],
  ["vault:*", false],
  ["vault:kv*", false],
  ["vault:kv/#*", false],
  ["vault:kv/team-a", false],
  ["vault:kv/../*", false],
  ["vault:kv/..*", false],
  ["vault:kv//*", false],
  ["vault:kv/*/app#k", false],
  ["vault:kv/a#b#*", false],
  ["kv/*", false],
])("isVaultReferencePattern(%j) is %s", (pattern, is) => {
  expect(isVaultReferencePattern(pattern)).toBe(is);
});

test("withoutVersion() removes only a version", () => {
  expect(withoutVersion("vault:kv/a@2/b#k@3")).toBe("vault:kv/a@2/b#k");
  expect(withoutVersion("vault:kv/a@2#k")).toBe("vault:kv/a@2#k");
  expect(withoutVersion("file:/run/a#b@3")).toBe("file:/run/a#b@3");
});
