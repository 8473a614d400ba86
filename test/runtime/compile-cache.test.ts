/** Where compiled code is kept: only where nobody but its own user can put any. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { cacheDirectory } from "../../runtime/compile-cache.ts";
import { VERSION } from "../../runtime/shared/version.ts";

const NAME = `compiled-${VERSION}`;
const uid = process.geteuid?.() ?? 0;
let root = "";
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "gateform-compiled-")));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A directory of this mode below the root. */
function directory(name: string, mode: number): string {
  const path = join(root, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

test("is made for its user alone, where the system says, or in the home", () => {
  const [own, caches, home] = [directory("own", 0o755), directory("caches", 0o700), directory("home", 0o755)];
  const all = { CACHE_DIRECTORY: `${own}:/elsewhere`, XDG_CACHE_HOME: caches, HOME: home };
  expect(cacheDirectory(all)).toBe(join(own, NAME));
  expect(cacheDirectory({ ...all, CACHE_DIRECTORY: undefined })).toBe(join(caches, "gateform", NAME));
  expect(cacheDirectory({ HOME: home })).toBe(join(home, ".cache/gateform", NAME));
  for (const made of [join(own, NAME), join(caches, "gateform", NAME), join(home, ".cache/gateform", NAME)])
    expect(statSync(made).mode & 0o777).toBe(0o700);
  expect(cacheDirectory({ HOME: home }), "it is there already").toBe(join(home, ".cache/gateform", NAME));
});

test("is nowhere without a place, in one that cannot be written, or below a relative one", () => {
  expect(cacheDirectory({})).toBeUndefined();
  expect(cacheDirectory({ CACHE_DIRECTORY: "cache", XDG_CACHE_HOME: "cache", HOME: "home" })).toBeUndefined();
  expect(cacheDirectory({ HOME: "/proc/self" })).toBeUndefined();
  // Whose home is not there has none.
  expect(cacheDirectory({ HOME: join(root, "nobody") })).toBeUndefined();
  expect(existsSync(join(root, "nobody"))).toBe(false);
});

test("is not used if another user owns it", () => {
  const own = directory("others", 0o755);
  expect(cacheDirectory({ CACHE_DIRECTORY: own }, uid + 1)).toBeUndefined();
});

test.each([
  ["that its group may write to", 0o770],
  ["that everybody may read", 0o755],
])("is not used if it is one %s", (what, mode) => {
  const own = directory(`open ${what}`, 0o755);
  mkdirSync(join(own, NAME));
  chmodSync(join(own, NAME), mode);
  expect(cacheDirectory({ CACHE_DIRECTORY: own })).toBeUndefined();
});

test("is not used if other users could replace it, by any path", () => {
  const open = directory("open", 0o777);
  expect(cacheDirectory({ CACHE_DIRECTORY: open })).toBeUndefined();
  mkdirSync(join(open, "deeper"), { mode: 0o700 });
  expect(cacheDirectory({ CACHE_DIRECTORY: join(open, "deeper") })).toBeUndefined();
  const link = join(root, "link");
  symlinkSync(join(open, "deeper"), link);
  expect(cacheDirectory({ CACHE_DIRECTORY: link })).toBeUndefined();
  // As /tmp is: what is there stays its owner's.
  chmodSync(open, 0o1777);
  expect(cacheDirectory({ CACHE_DIRECTORY: link })).toBe(join(open, "deeper", NAME));
});
