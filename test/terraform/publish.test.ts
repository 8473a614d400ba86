import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { createFileTarget, readSliceText } from "../../runtime/terraform/publish/publish.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gw-publish-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const target = (mode?: number): ReturnType<typeof createFileTarget> =>
  createFileTarget({ directory, owner: "team", mode });
const text = (routes: object = {}, owner = "team"): string => JSON.stringify({ version: 1, owner, routes });
const digest = (slice: string): string => {
  const read = readSliceText(slice);
  return read.kind === "slice" ? read.digest : "";
};
const path = (): string => join(directory, "team.json");

describe("createFileTarget()", () => {
  test("publishes under the owner's name and leaves no other file", async () => {
    await target().write(text(), null);
    expect(readdirSync(directory)).toEqual(["team.json"]);
    expect(readFileSync(path(), "utf8")).toBe(text());
    expect(await target().read()).toEqual({ kind: "slice", document: JSON.parse(text()), digest: digest(text()) });
  });

  test("removes a slice only if no other resource has published it since", async () => {
    await target().write(text(), null, "one");
    expect(await target().read()).toMatchObject({ kind: "slice", claim: "one" });
    await target().write(text(), null, "two");
    expect(await target().remove(digest(text()), "one")).toBe(false);
    expect(await target().remove(digest(text()))).toBe(false);
    expect(readFileSync(path(), "utf8")).toBe(text());
    expect(await target().remove(digest(text()), "two")).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("without a claim the slice belongs to no resource", async () => {
    await target().write(text(), null, "one");
    await target().write(text({ a: {} }), digest(text()));
    expect(readdirSync(directory)).toEqual(["team.json"]);
  });

  test("ignores a file with an invalid claim", async () => {
    await target().write(text(), null);
    writeFileSync(`${path()}.claim`, "no claim\n");
    expect(await target().remove(digest(text()), "one")).toBe(true);
  });

  test("gives the permissions asked for, also over a stricter umask and an earlier file", async () => {
    const before = process.umask(0o077);
    try {
      await target().write(text(), null);
      expect(statSync(path()).mode & 0o777).toBe(0o644);
      await target(0o640).write(text({ a: {} }), digest(text()));
      expect(statSync(path()).mode & 0o777).toBe(0o640);
    } finally {
      process.umask(before);
    }
  });

  test("makes the directory", async () => {
    const nested = join(directory, "a", "b");
    await createFileTarget({ directory: nested, owner: "team", mode: undefined }).write(text(), null);
    expect(readdirSync(nested)).toEqual(["team.json"]);
  });

  test("reports the failed action, without the content", async () => {
    writeFileSync(join(directory, "file"), "");
    const impossible = createFileTarget({ directory: join(directory, "file", "x"), owner: "team", mode: undefined });
    await expect(impossible.write(text(), null)).rejects.toMatchObject({
      code: expect.stringMatching(/^publish\./) as string,
    });
  });

  test("does not replace content that changed since the last read", async () => {
    await target().write(text({ a: {} }), null);
    await expect(target().write(text({ b: {} }), digest(text()))).rejects.toMatchObject({ code: "publish.conflict" });
    expect(readFileSync(path(), "utf8")).toBe(text({ a: {} }));
  });

  test("other formatting is not a change", async () => {
    await target().write(text({ a: {} }), null);
    writeFileSync(path(), JSON.stringify(JSON.parse(text({ a: {} })), null, 4));
    await target().write(text({ b: {} }), digest(text({ a: {} })));
    expect(readFileSync(path(), "utf8")).toBe(text({ b: {} }));
  });

  test("does not create over other content, but continues if its own content is there", async () => {
    await target().write(text({ a: {} }), null);
    await expect(target().write(text({ b: {} }), null)).rejects.toMatchObject({ code: "publish.conflict" });
    await target().write(text({ a: {} }), null);
    await target().write(text({ a: {} }), digest(text({ old: {} })));
  });

  test("restores a removed slice", async () => {
    await target().write(text({ a: {} }), digest(text()));
    expect(readFileSync(path(), "utf8")).toBe(text({ a: {} }));
  });

  test("repairs a damaged slice of its own, and touches no damaged file that it did not know", async () => {
    writeFileSync(path(), '{"version":1,"ow');
    expect(await target().read()).toMatchObject({
      kind: "unreadable",
      reason: expect.stringMatching(/^it in line 1 /) as string,
    });
    await expect(target().write(text(), null)).rejects.toMatchObject({ code: "publish.conflict" });
    await target().write(text(), "earlier digest");
    expect(readFileSync(path(), "utf8")).toBe(text());
  });

  test("takes a slice that the gateway refuses for damaged: two readers would read repeated keys differently", async () => {
    writeFileSync(path(), '{"version":1,"owner":"team","routes":{"a":{}},"routes":{}}');
    expect(await target().read()).toMatchObject({
      kind: "unreadable",
      reason: expect.stringContaining("twice") as string,
    });
  });

  test("neither replaces nor removes a slice of another owner", async () => {
    writeFileSync(path(), text({}, "other"));
    await expect(target().write(text(), digest(text({}, "other")))).rejects.toMatchObject({ code: "publish.foreign" });
    await expect(target().remove(digest(text({}, "other")))).rejects.toMatchObject({ code: "publish.foreign" });
    expect(readFileSync(path(), "utf8")).toBe(text({}, "other"));
  });

  test("removes its slice, once and again", async () => {
    await target().write(text(), null);
    await target().remove(digest(text()));
    await target().remove(digest(text()));
    expect(readdirSync(directory)).toEqual([]);
    expect(await target().read()).toEqual({ kind: "absent" });
  });

  test("removes no slice that another state replaced meanwhile", async () => {
    await target().write(text({ a: {} }), null);
    await expect(target().remove(digest(text()))).rejects.toMatchObject({ code: "publish.conflict" });
    expect(readFileSync(path(), "utf8")).toBe(text({ a: {} }));
    // Found damaged: the plan that removes it has seen that.
    await target().remove("");
    expect(readdirSync(directory)).toEqual([]);
  });

  test("of several states that write at the same time exactly one succeeds, and the others get a conflict", async () => {
    let expected: string | null = null;
    for (let round = 0; round < 5; round++) {
      const texts = Array.from({ length: 8 }, (_, writer) => text({ [`r${round}`]: { writer } }));
      const outcomes = await Promise.allSettled(texts.map((each) => target().write(each, expected)));
      const won = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [texts[index] as string] : []));
      expect(won).toEqual([readFileSync(path(), "utf8")]);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "publish.conflict" });
      expected = digest(won[0] as string);
    }
    expect(readdirSync(directory)).toEqual(["team.json"]);
  });

  test("waits for another apply that holds the lock, and not for one that was killed", async () => {
    const lock = `${path()}.lock`;
    writeFileSync(lock, `another-machine - 1 abcdefgh`);
    const waiting = target().write(text(), null);
    await expect.poll(() => readdirSync(directory).length).toBeGreaterThan(0);
    expect(readdirSync(directory)).not.toContain("team.json");
    rmSync(lock);
    await waiting;
    writeFileSync(lock, `another-machine - 1 abcdefgh`);
    utimesSync(lock, 1, 1);
    await target().write(text({ a: {} }), digest(text()));
    expect(readdirSync(directory)).toEqual(["team.json"]);
  });

  test("a host whose clock is ahead takes no lock from a working one", async () => {
    const lock = `${path()}.lock`;
    writeFileSync(lock, `another-machine - 1 abcdefgh`);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = target().write(text(), null);
    // It tries to make a lock of its own, again and again.
    const changes = new Set<number>();
    await expect.poll(() => changes.add(statSync(directory).mtimeMs).size).toBeGreaterThan(3);
    expect(existsSync(path())).toBe(false);
    rmSync(lock);
    await waiting;
    expect(readdirSync(directory)).toEqual(["team.json"]);
  });

  test("replaces a link and not the file that it leads to", async () => {
    const elsewhere = join(directory, "elsewhere");
    writeFileSync(elsewhere, text());
    symlinkSync(elsewhere, path());
    await target().write(text({ a: {} }), digest(text()));
    expect(readFileSync(elsewhere, "utf8")).toBe(text());
    expect(readFileSync(path(), "utf8")).toBe(text({ a: {} }));
  });

  const OLD = "team.json.tmp-0123456789ab";
  const YOUNG = "team.json.tmp-aaaaaaaaaaaa";
  const FOREIGN = "other.json.tmp-0123456789ab";
  /** The slice of an owner called "team.json.tmp-0123456789ab". */
  const SLICE = "team.json.tmp-0123456789ab.json";

  test("never writes the boot file of a gateway", async () => {
    const boot = createFileTarget({ directory, owner: "gateway", mode: undefined });
    await expect(boot.write(text({}, "gateway"), null)).rejects.toMatchObject({ code: "publish.foreign" });
    expect(readdirSync(directory)).toEqual([]);
  });

  test("removes old leftovers of killed applies, and no recent or foreign ones", async () => {
    for (const name of [OLD, YOUNG, FOREIGN, SLICE]) writeFileSync(join(directory, name), "");
    for (const name of [OLD, FOREIGN, SLICE]) utimesSync(join(directory, name), 0, 0);
    await target().write(text(), null);
    expect(readdirSync(directory).toSorted()).toEqual([FOREIGN, "team.json", SLICE, YOUNG].toSorted());
  });

  test("a file that cannot be read is a failure and not an absence", async () => {
    mkdirSync(path());
    await expect(target().read()).rejects.toMatchObject({ code: "publish.read" });
    chmodSync(path(), 0o755);
  });

  test("killed at any moment, it leaves the old slice or the new one", async () => {
    const program = `
      import { createFileTarget, readSliceText } from ${JSON.stringify(new URL("../../runtime/terraform/publish/publish.ts", import.meta.url).href)};
      const target = createFileTarget({ directory: ${JSON.stringify(directory)}, owner: "team", mode: undefined });
      const slice = (n) => JSON.stringify({ version: 1, owner: "team", routes: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => ["r" + i, { n }])) });
      for (let n = 0; ; n++) {
        const read = await target.read();
        await target.write(slice(n), read.kind === "slice" ? read.digest : null);
        if (n === 0) process.stdout.write("first");
      }`;
    for (let attempt = 0; attempt < 5; attempt++) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await firstOutput(child);
      // Readers meet whole slices while it runs ...
      for (let reads = 0; reads < 20 + attempt * 3; reads++) {
        expect(versions(readFileSync(path(), "utf8"))).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await ended;
      // ... and after its sudden end.
      expect(versions(readFileSync(path(), "utf8"))).toBe(1);
    }
  });
});

function versions(slice: string): number {
  const { routes } = JSON.parse(slice) as { routes: Record<string, { n: number }> };
  expect(Object.keys(routes)).toHaveLength(2000);
  return new Set(Object.values(routes).map(({ n }) => n)).size;
}

function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((resolve) =>
    child.stdout?.once("data", () => {
      resolve();
    }),
  );
}
