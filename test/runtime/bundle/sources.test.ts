import { mkdirSync, symlinkSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";

import { readSources, readTogether } from "../../../runtime/bundle/sources.ts";
import { createConfigFiles, type ConfigFiles } from "../../support/bundle-files.ts";

let files: ConfigFiles;
beforeEach(() => {
  files = createConfigFiles();
});
afterEach(() => files.close());

const relevant = (sources: Awaited<ReturnType<typeof readSources>>) =>
  sources.map(({ file, boot, text }) => [file.slice(files.directory.length + 1), boot, text]);

test("readSources() reads the first file as main configuration file and files of later directories as slices", async () => {
  files.write("main.yaml", "a: 1");
  mkdirSync(files.path("slices"));
  files.write("slices/b.json", "{}");
  files.write("slices/gateway.yaml", "c: 1");
  const sources = await readSources([files.path("main.yaml"), files.path("slices")]);
  expect(relevant(sources)).toEqual([
    ["main.yaml", true, "a: 1"],
    ["slices/b.json", false, "{}"],
    ["slices/gateway.yaml", false, "c: 1"],
  ]);
});

test("readSources() finds the main configuration file of a directory, or reads without one", async () => {
  files.write("a.yaml", "\uFEFFa: 1");
  expect(relevant(await readSources([files.directory]))).toEqual([["a.yaml", false, "a: 1"]]);
  files.write("gateway.yml", "b: 1");
  expect(relevant(await readSources([files.directory]))).toEqual([
    ["a.yaml", false, "a: 1"],
    ["gateway.yml", true, "b: 1"],
  ]);
});

test("readSources() reports everything that it cannot read", async () => {
  mkdirSync(files.path("folder.json"));
  symlinkSync("nowhere", files.path("dangling.yaml"));
  const error: unknown = await readSources([files.path("none.yaml"), files.directory]).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ name: "GatewayError", code: "config.unreadable" });
  expect((error as Error).message.split("\n")).toEqual([
    `${files.path("none.yaml")}: error: does not exist`,
    `${files.path("dangling.yaml")}: error: does not exist`,
    `${files.path("folder.json")}: error: is not a file`,
  ]);
});

test("readTogether() has equal signatures for equal files only", async () => {
  files.write("gateway.yaml", "a: 1");
  const first = await readTogether(files.directory);
  expect((await readTogether(files.directory)).signature).toBe(first.signature);
  // Same text, same size, another file.
  files.replace("gateway.yaml", "a: 1");
  const second = await readTogether(files.directory);
  expect(second.signature).not.toBe(first.signature);
  files.write("slice.json", "{}");
  const third = await readTogether(files.directory);
  expect(third.signature).not.toBe(second.signature);
  files.remove("slice.json");
  expect((await readTogether(files.directory)).signature).toBe(second.signature);
  files.remove("gateway.yaml");
  expect((await readTogether(files.directory)).signature).not.toBe(second.signature);
});

test("readTogether() names the directories behind symbolic links", async () => {
  files.swapConfigMap({ "gateway.yaml": "a: 1" });
  const { directories } = await readTogether(files.path("gateway.yaml"));
  expect(directories).toEqual([files.directory, files.path("..generation-1")]);
});

test("readTogether() reports files that change constantly", async () => {
  files.write("gateway.yaml", "a: 1");
  const writer = setInterval(() => files.replace("gateway.yaml", `a: ${performance.now()}`), 0);
  try {
    const { problems, sources } = await readTogether(files.directory);
    // Either a moment of rest was found, or it says that there was none; what it read is whole in both cases.
    if (problems.length > 0) expect(problems[0]?.message).toBe("keeps changing while it is read");
    expect(sources[0]?.text).toMatch(/^a: [0-9.]+$/);
  } finally {
    clearInterval(writer);
  }
});
