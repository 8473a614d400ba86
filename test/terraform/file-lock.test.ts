/** One writer at a time, also after writers that were killed. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { hashSecret } from "../../runtime/shared/keys.ts";
import { processSpace } from "../../runtime/shared/net/process-space.ts";
import { withFileLock } from "../../runtime/terraform/publish/file-lock.ts";

/** Runs after a read of a file, before the reading process continues. */
let afterReading: ((path: string) => Promise<void>) | undefined;
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    async readFile(path: string, encoding: BufferEncoding) {
      const text = await real.readFile(path, encoding);
      await afterReading?.(path);
      return text;
    },
  };
});

let directory = "";
/** Mark of a process that has ended. */
const place = `${processSpace()} ${spawnSync("true").pid}`;
beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), "gateway-lock-"))));
afterAll(() => rm(directory, { recursive: true, force: true }));

test("a process that found a killed writer's lock long ago does not take the lock from its new holder", async () => {
  const path = join(directory, "late.yaml");
  await writeFile(`${path}.lock`, `${place} killed`);
  let working = 0;
  let most = 0;
  const enter = async (until: Promise<void>): Promise<void> => {
    working += 1;
    most = Math.max(most, working);
    await until;
    working -= 1;
  };
  const { promise: end, resolve: endAll } = Promise.withResolvers<void>();
  const others: Promise<void>[] = [];
  const startAnother = (): Promise<void> => {
    const { promise: started, resolve } = Promise.withResolvers<void>();
    others.push(withFileLock(path, () => (resolve(), enter(end))));
    return started;
  };
  let looks = 0;
  afterReading = async (read) => {
    looks += 1;
    if (looks === 1) await startAnother();
    // While the new lock is missing for a moment, a third process gets in.
    else if (read !== `${path}.lock` && !read.includes(hashSecret(`${place} killed`))) await startAnother();
    else if (looks > 6) endAll();
  };
  await withFileLock(path, () => enter(Promise.resolve()));
  afterReading = undefined;
  await Promise.all(others);
  expect(most).toBe(1);
  expect(await readFile(`${path}.lock`, "utf8").catch(() => "gone")).toBe("gone");
});

test("of many that find it at the same time one works, also if the process that removed it was killed", async () => {
  const path = join(directory, "slice.yaml");
  let working = 0;
  const seen: number[] = [];
  for (const round of [0, 1, 2, 3]) {
    const killed = `${place} killed-${round}`;
    await writeFile(`${path}.lock`, killed);
    if (round % 2 === 1) await writeFile(`${path}.lock-${hashSecret(killed)}-0`, `${place} remover-${round}`);
    const work = async (): Promise<void> => {
      working += 1;
      seen.push(working);
      await readdir(directory);
      working -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => withFileLock(path, work)));
  }
  expect(seen).toEqual(Array.from({ length: 32 }, () => 1));
  expect(await readdir(directory)).toEqual([]);
});
