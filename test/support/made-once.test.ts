import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { madeOnce, placeOf } from "./made-once.ts";

const from = ["test", String(process.pid)];
afterEach(() => rmSync(placeOf("test", from), { recursive: true, force: true }));

const write = async (directory: string): Promise<void> => writeFileSync(join(directory, "file"), "made");

test("madeOnce() makes it once for all who come, and keeps it", async () => {
  let made = 0;
  const make = async (directory: string): Promise<void> => {
    made += 1;
    await write(directory);
  };
  const places = await Promise.all(Array.from({ length: 5 }, () => madeOnce("test", from, make)));
  expect(new Set(places)).toEqual(new Set([await madeOnce("test", from, make)]));
  expect(made).toBe(1);
  expect(readFileSync(join(places[0] ?? "", "file"), "utf8")).toBe("made");
});

test("madeOnce() keeps nothing of what failed, and the next one makes it", async () => {
  const failing = madeOnce("test", from, async (directory) => {
    await write(directory);
    throw new Error("no network");
  });
  await expect(failing).rejects.toThrow("no network");
  expect(existsSync(placeOf("test", from))).toBe(false);
  expect(readFileSync(join(await madeOnce("test", from, write), "file"), "utf8")).toBe("made");
});

test("madeOnce() does not wait for a process that was killed", async () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  mkdirSync(dirname(placeOf("test", from)), { recursive: true });
  writeFileSync(`${placeOf("test", from)}.lock`, String(pid));
  expect(await madeOnce("test", from, write)).toBe(placeOf("test", from));
});
