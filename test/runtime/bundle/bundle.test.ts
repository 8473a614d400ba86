import { renameSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { openBundle, type Bundle, type BundleDeps } from "../../../runtime/bundle/bundle.ts";
import { createSealing } from "../../../runtime/bundle/secrets.ts";
import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import type { Snapshot } from "../../../runtime/config/snapshot.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { createLog, silentLog } from "../../../runtime/shared/log.ts";
import { sealSecret } from "../../../runtime/terraform/resource/seal.ts";
import { bootFile, createConfigFiles, sliceFile, type ConfigFiles } from "../../support/bundle-files.ts";
import { createTestClock } from "../../support/clock.ts";

let files: ConfigFiles;
let bundle: Bundle | undefined;
beforeEach(() => {
  files = createConfigFiles();
});
afterEach(async () => {
  await bundle?.close();
  bundle = undefined;
  files.close();
});

async function open(path: string, more: Partial<BundleDeps> = {}): Promise<Bundle> {
  // The poll is off, unless a test is about it: the watch must do by itself.
  const deps = { path, log: silentLog(), clock: createTestClock(), quietMs: 5, pollEveryMs: 3_600_000, env: {} };
  bundle = await openBundle({ ...deps, ...more });
  return bundle;
}

const marks = ({ routes }: Snapshot): string[] => routes.map((route) => route.responseHeaders.set[0]?.value ?? "");
const keys = ({ routes }: Snapshot): string[] => routes.map((route) => route.key);
const soon = { interval: 10 };

describe("openBundle()", () => {
  test("reads a single file", async () => {
    files.write("gateway.yaml", bootFile("routes: [{ from: http://a.example.com, to: http://127.0.0.1:1 }]"));
    files.write("other.yaml", "not: [a slice");
    const opened = await open(files.path("gateway.yaml"));
    expect(opened.boot.storageUrl).toBe("memory:");
    expect(opened.current().generation).toBe(1);
    expect(opened.current().digest).toMatch(/^[0-9a-f]{64}$/);
    expect(opened.current().routes).toHaveLength(1);
    expect(opened.status()).toMatchObject({
      digest: opened.current().digest,
      generation: 1,
      loadedAt: 1_800_000_000,
      slices: [{ owner: "default", file: files.path("gateway.yaml"), ok: true }],
      restartNeeded: false,
      reloads: { ok: 1, failed: 0 },
    });
    expect(opened.status().lastError).toBeUndefined();
  });

  test("an error after a reload does not block later reloads", async () => {
    let isBroken = false;
    files.write("gateway.yaml", bootFile());
    const opened = await open(files.directory, {
      onReload() {
        if (isBroken) throw new Error("a mistake");
      },
    });
    isBroken = true;
    files.write("team-a.json", sliceFile("team-a", "1"));
    await opened.reload();
    isBroken = false;
    files.write("team-b.json", sliceFile("team-b", "1"));
    await opened.reload();
    expect(keys(opened.current())).toEqual(["team-a/r0", "team-b/r0"]);
  });

  test("reads a directory with a main configuration file and slices, without hidden or foreign files", async () => {
    files.write("gateway.yaml", bootFile());
    files.write("team-a.json", sliceFile("team-a", "1"));
    files.write("team-b.yaml", `version: 1\nowner: team-b\nroutes: {}\n`);
    files.write(".team-c.json.tmp-1", "{");
    files.write("README.md", "no slice");
    files.write("team-a.json~", "{");
    const opened = await open(files.directory);
    expect(keys(opened.current())).toEqual(["team-a/r0"]);
    expect(opened.status().slices.map(({ owner }) => owner)).toEqual(["default", "team-a", "team-b"]);
  });

  test("is not disturbed by polls during the first load", async () => {
    files.write("gateway.yaml", bootFile());
    files.write("team-a.json", sliceFile("team-a", "1", 200));
    const opened = await open(files.directory, { pollEveryMs: 1 });
    expect(opened.status().reloads).toEqual({ ok: 1, failed: 0 });
    files.replace("team-a.json", sliceFile("team-a", "2", 200));
    await expect.poll(() => new Set(marks(opened.current())), soon).toEqual(new Set(["2"]));
  });

  test("reports that a rejected first start does not start, and that a later rejection keeps the previous version", async () => {
    const lines: string[] = [];
    const log = createLog({ destination: { write: (line) => void lines.push(line) } });
    const errors = (): unknown[] =>
      lines
        .map((line) => JSON.parse(line) as { level: number; msg: string })
        .flatMap(({ level, msg }) => (level === 50 ? [msg] : []));
    files.write("gateway.yaml", bootFile("adress: x"));
    await open(files.path("gateway.yaml"), { log }).catch(() => undefined);
    expect(errors()).toEqual(["configuration rejected, gateway not started"]);

    files.replace("gateway.yaml", bootFile());
    const opened = await open(files.path("gateway.yaml"), { log });
    files.replace("gateway.yaml", bootFile("adress: x"));
    await opened.reload();
    expect(errors().slice(1)).toEqual(["configuration rejected, previous valid version stays active"]);
  });

  test("fails with every problem of every file", async () => {
    files.write("gateway.yaml", bootFile("routes: [{ to: http://127.0.0.1:1 }]\nadress: x"));
    files.write("team-a.json", `{ "version": 2, "owner": "team-a" }`);
    const error: unknown = await open(files.directory).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "GatewayError", code: "config.invalid" });
    const lines = (error as Error).message.split("\n");
    expect(lines.some((line) => line.startsWith(`${files.path("gateway.yaml")}:`) && line.includes("from"))).toBe(true);
    expect(lines.some((line) => line.includes("adress"))).toBe(true);
    expect(lines.some((line) => line.startsWith(`${files.path("team-a.json")}:`) && line.includes("version"))).toBe(
      true,
    );
  });

  test.each<[string, () => string, string]>([
    ["a path that is not there", () => files.path("none.yaml"), "does not exist"],
    ["a directory without a main configuration file", () => files.directory, "has no main configuration file"],
    [
      "two boot files",
      () => {
        files.write("gateway.yaml", bootFile());
        files.write("gateway.json", "{}");
        return files.directory;
      },
      "has gateway.json and gateway.yaml, must have one main configuration file",
    ],
    [
      "a main configuration file that is not UTF-8",
      () => {
        files.write("gateway.yaml", Buffer.from([0x22, 0xff, 0x22]) as unknown as string);
        return files.directory;
      },
      "is not UTF-8 text",
    ],
    [
      "an unreadable secret of the main configuration file",
      () => {
        files.write(
          "gateway.yaml",
          'shared_secret_ref: "env:MISSING"\nstorage_url: "memory:"\ninsecure_server: true\n',
        );
        return files.path("gateway.yaml");
      },
      'Cannot read secret "env:MISSING": the environment variable is not set',
    ],
  ])("fails for %s", async (_, path, message) => {
    await expect(open(path())).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining(message) as string,
    });
  });
});

test("openBundle() omits and reports a slice that is not UTF-8", async () => {
  files.write("gateway.yaml", bootFile());
  files.write("a.json", Buffer.from([0x22, 0xff, 0x22]) as unknown as string);
  files.write("b.json", sliceFile("team-b", "1"));
  const opened = await open(files.directory);
  expect(keys(opened.current())).toEqual(["team-b/r0"]);
  const reason = `${files.path("a.json")}: error: is not UTF-8 text`;
  expect(opened.status()).toMatchObject({
    degraded: [{ owner: "unknown", standing: "absent", files: [files.path("a.json")], problems: [reason] }],
    owners: { current: 1, kept: 0, absent: 1 },
    lastError: { problems: [reason], partial: true },
  });
});

test("the log and lastError name both sides of a conflict; an owner's problems name no other owner", async () => {
  files.write("gateway.yaml", bootFile());
  files.write("a.json", sliceFile("team-a", "1"));
  files.write("b.json", sliceFile("team-b", "1").replaceAll("team-b-0", "team-a-0"));
  const { degraded, lastError } = (await open(files.directory)).status();
  const problems = degraded.map((each) => each.problems.join());
  expect(problems).toHaveLength(2);
  for (const text of problems) expect(text).toContain("conflicts with another owner's configuration");
  expect(problems[0]).not.toMatch(/b\.json|team-b/);
  expect(problems[1]).not.toMatch(/a\.json/);
  expect(lastError?.problems.join()).toContain("leads to the same requests as");
});

describe("a change of the files", () => {
  beforeEach(() => {
    files.write("gateway.yaml", bootFile());
    files.replace("team-a.json", sliceFile("team-a", "1", 3));
  });

  test.each<[string, (name: string, text: string) => void]>([
    ["in place", (name, text) => files.write(name, text)],
    ["by rename", (name, text) => files.replace(name, text)],
    [
      "by delete and re-create",
      (name, text) => {
        files.remove(name);
        files.write(name, text);
      },
    ],
  ])("written %s is put in force and told once", async (_, write) => {
    const opened = await open(files.directory);
    const seen: (readonly [Snapshot, Snapshot])[] = [];
    opened.subscribe((next, previous) => seen.push([next, previous]));
    const before = opened.current();
    write("team-a.json", sliceFile("team-a", "2", 3));
    await expect.poll(() => marks(opened.current()), soon).toEqual(["2", "2", "2"]);
    expect(opened.current().generation).toBe(2);
    expect(opened.current().digest).not.toBe(before.digest);
    expect(seen).toEqual([[opened.current(), before]]);
    expect(opened.status()).toMatchObject({ digest: opened.current().digest, generation: 2, reloads: { ok: 2 } });
    expect(marks(before)).toEqual(["1", "1", "1"]);
  });

  test("keeps compiled routes and settings that did not change", async () => {
    const opened = await open(files.directory);
    files.replace("team-b.json", sliceFile("team-b", "1"));
    const before = opened.current();
    await expect.poll(() => keys(opened.current()), soon).toEqual(["team-a/r0", "team-a/r1", "team-a/r2", "team-b/r0"]);
    expect(opened.current().routes.slice(0, 3)).toEqual(before.routes);
    for (const [index, route] of before.routes.entries()) expect(opened.current().routes[index]).toBe(route);
    expect(opened.current().settings).toBe(before.settings);
  });

  test("of a dynamic setting recompiles every route", async () => {
    const opened = await open(files.directory);
    const before = opened.current();
    files.replace("gateway.yaml", bootFile('default_upstream_timeout: "7s"'));
    await expect.poll(() => opened.current().routes.map((route) => route.timeoutMs), soon).toEqual([7000, 7000, 7000]);
    expect(opened.current().routes.some((route) => before.routes.includes(route))).toBe(false);
  });

  test("without effect swaps no snapshot", async () => {
    const opened = await open(files.directory);
    let seen = 0;
    opened.subscribe(() => seen++);
    const before = opened.current();
    files.replace("team-a.json", JSON.stringify(JSON.parse(sliceFile("team-a", "1", 3)), null, 2));
    await opened.reload();
    expect(opened.current()).toBe(before);
    expect(seen).toBe(0);
  });

  test("adds and removes slices", async () => {
    const opened = await open(files.directory);
    files.write(
      "team-b.yaml",
      "version: 1\nowner: team-b\nroutes:\n  x: { from: http://b.example.com, to: http://127.0.0.1:1 }\n",
    );
    await expect.poll(() => keys(opened.current()), soon).toContain("team-b/x");
    files.remove("team-a.json");
    await expect.poll(() => keys(opened.current()), soon).toEqual(["team-b/x"]);
  });

  test("that is invalid keeps the previous snapshot, is reported, and recovers", async () => {
    const opened = await open(files.directory);
    const before = opened.current();
    files.replace("team-a.json", sliceFile("team-a", "2").replace("http://team-a-0", "ftp://team-a-0"));
    await expect.poll(() => opened.status().lastError?.problems.join(), soon).toContain("team-a.json");
    expect(opened.current()).toBe(before);
    expect(opened.status()).toMatchObject({ digest: before.digest, generation: 1, reloads: { ok: 1, failed: 1 } });
    expect(opened.status().slices.map(({ owner, ok }) => [owner, ok])).toEqual([
      ["default", true],
      ["team-a", false],
    ]);
    expect(opened.status().slices[1]?.problems[0]?.path).toContain("from");

    files.replace("team-a.json", sliceFile("team-a", "3", 3));
    await expect.poll(() => marks(opened.current()), soon).toEqual(["3", "3", "3"]);
    expect(opened.status().lastError).toBeUndefined();
    expect(opened.status().slices.every(({ ok }) => ok)).toBe(true);
  });

  test("that is invalid and then undone leaves no error and no new generation", async () => {
    const opened = await open(files.directory);
    const before = opened.current();
    files.replace("team-a.json", "{");
    await expect.poll(() => opened.status().lastError, soon).toBeDefined();
    files.replace("team-a.json", sliceFile("team-a", "1", 3));
    await expect.poll(() => opened.status().lastError, soon).toBeUndefined();
    expect(opened.current()).toBe(before);
  });

  test("that conflicts with another slice keeps the previous snapshot", async () => {
    const opened = await open(files.directory);
    const before = opened.current();
    files.write("team-b.json", sliceFile("team-a", "9").replace('"owner":"team-a"', '"owner":"team-b"'));
    await expect
      .poll(() => opened.status().lastError?.problems.join("\n"), soon)
      .toContain("leads to the same requests");
    expect(opened.current()).toBe(before);
    files.remove("team-b.json");
    await expect.poll(() => opened.status().lastError, soon).toBeUndefined();
    expect(opened.current()).toBe(before);
  });

  test("that removes everything keeps the previous snapshot, and a re-created directory is noticed", async () => {
    const opened = await open(files.directory, { pollEveryMs: 50 });
    const before = opened.current();
    files.close();
    await expect.poll(() => opened.status().lastError, soon).toBeDefined();
    expect(opened.current()).toBe(before);
    const again = createConfigFiles();
    again.write("gateway.yaml", bootFile());
    again.write("team-a.json", sliceFile("team-a", "2"));
    renameSync(again.directory, files.directory);
    await expect.poll(() => marks(opened.current()), soon).toEqual(["2"]);
    files.replace("team-a.json", sliceFile("team-a", "3"));
    await expect.poll(() => marks(opened.current()), soon).toEqual(["3"]);
  });

  test("is noticed by the poll without any notification", async () => {
    const opened = await open(files.directory, { quietMs: 3_600_000, pollEveryMs: 20 });
    await opened.reload();
    files.replace("team-a.json", sliceFile("team-a", "2", 3));
    await expect.poll(() => marks(opened.current()), soon).toEqual(["2", "2", "2"]);
  });

  test("of static settings is reported and does not take effect", async () => {
    const opened = await open(files.directory);
    files.replace("gateway.yaml", bootFile('drain_timeout: "1s"'));
    await expect.poll(() => opened.status().restartNeeded, soon).toBe(true);
    expect(opened.boot.drainTimeoutMs).toBe(30_000);
    expect(opened.current().generation).toBe(1);
    files.replace("gateway.yaml", bootFile());
    await expect.poll(() => opened.status().restartNeeded, soon).toBe(false);
  });

  test("is sent to all listeners although one throws, and to none that unsubscribed", async () => {
    const opened = await open(files.directory);
    const seen: string[] = [];
    opened.subscribe(() => {
      throw new Error("bug");
    });
    opened.subscribe(() => seen.push("kept"));
    opened.subscribe(() => seen.push("gone"))();
    files.replace("team-a.json", sliceFile("team-a", "2", 3));
    await opened.reload();
    await expect.poll(() => seen, soon).toEqual(["kept"]);
  });

  test("100 rapid rewrites never show a torn or mixed snapshot", async () => {
    const opened = await open(files.directory);
    const seen: Snapshot[] = [];
    opened.subscribe((next) => seen.push(next));
    for (let round = 1; round <= 100; round++) {
      // Every third time in place: a reader must not take half a file for a whole one.
      const text = sliceFile("team-a", `round-${round}`, 40);
      if (round % 3 === 0) files.write("team-a.json", text);
      else files.replace("team-a.json", text);
      for (let turn = 0; turn < round % 7; turn++) await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await expect.poll(() => marks(opened.current())[0], soon).toBe("round-100");
    expect(seen.length).toBeGreaterThan(0);
    for (const [index, snapshot] of seen.entries()) {
      expect(snapshot.routes).toHaveLength(40);
      expect(new Set(marks(snapshot)).size).toBe(1);
      expect(snapshot.generation).toBe(index + 2);
    }
  });
});

describe("a Kubernetes ConfigMap", () => {
  test("is replaced as a whole", async () => {
    const generation = (mark: string): Record<string, string> => ({
      "gateway.yaml": bootFile(),
      "team-a.json": sliceFile("team-a", mark, 5),
      "team-b.json": sliceFile("team-b", mark, 5),
    });
    files.swapConfigMap(generation("1"));
    const opened = await open(files.directory);
    const seen: Snapshot[] = [];
    opened.subscribe((next) => seen.push(next));
    for (let round = 2; round <= 20; round++) {
      files.swapConfigMap(generation(String(round)));
      for (let turn = 0; turn < round % 4; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expect.poll(() => marks(opened.current())[0], soon).toBe("20");
    for (const snapshot of seen) {
      expect(snapshot.routes).toHaveLength(10);
      expect(new Set(marks(snapshot)).size).toBe(1);
    }
  });

  test("is followed through the link of a single file", async () => {
    files.swapConfigMap({ "gateway.yaml": bootFile('cookie_name: "one"') });
    const opened = await open(files.path("gateway.yaml"));
    files.swapConfigMap({ "gateway.yaml": bootFile('cookie_name: "two"') });
    await expect.poll(() => opened.current().settings.cookie.name, soon).toBe("two");
  });
});

describe("secrets", () => {
  const oauth = (route: CompiledRoute | undefined): string | undefined =>
    route?.mcp?.kind === "server" ? route.mcp.upstreamOAuth?.clientSecret : undefined;
  const server = (name: string, secret: string): string => `  - name: ${name}
    from: http://${name}.example.com
    to: http://127.0.0.1:1
    mcp: { server: { upstream_oauth2: { client_id: x, ${secret} } } }
`;

  test("are read from the environment and from files, and a changed file takes effect", async () => {
    const routes = `routes:\n${server("a", 'client_secret_ref: "env:SECRET_A"')}${server("b", `client_secret_ref: "file:${files.path("b.secret")}"`)}`;
    files.write("b.secret", "first\n");
    files.write("gateway.yaml", bootFile(routes));
    const opened = await open(files.path("gateway.yaml"), { env: { SECRET_A: "from-env" } });
    const before = opened.current();
    expect(before.routes.map(oauth)).toEqual(["from-env", "first"]);

    files.replace("b.secret", "second\n");
    await expect.poll(() => opened.current().routes.map(oauth), soon).toEqual(["from-env", "second"]);
    expect(opened.current().generation).toBe(2);
    expect(opened.current().digest).toBe(before.digest);
    // Only the route that read it is another one.
    expect(opened.current().routes[0]).toBe(before.routes[0]);

    const good = opened.current();
    files.remove("b.secret");
    await expect.poll(() => opened.status().lastError?.problems.join("\n"), soon).toContain("the file does not exist");
    expect(opened.current()).toBe(good);
    expect(opened.status().owners).toEqual({ current: 0, kept: 1, absent: 0 });
    expect(JSON.stringify(opened.status())).not.toMatch(/first|second|from-env/);
    files.write("b.secret", "third");
    await expect.poll(() => opened.current().routes.map(oauth), soon).toEqual(["from-env", "third"]);
    expect(opened.status().lastError).toBeUndefined();
  });

  test("sealed to the gateway's key open, also with the previous key", async () => {
    const previous = Buffer.alloc(32, 7).toString("base64");
    const old = await createSealing(createKeys([Buffer.alloc(32, 7)]));
    const now = await createSealing(createKeys([Buffer.alloc(32)]));
    const [a, b] = [
      await sealSecret(JSON.stringify(now.publicJwk), "new"),
      await sealSecret(JSON.stringify(old.publicJwk), "old"),
    ];
    const routes = `routes:\n${server("a", `client_secret_sealed: "${a}"`)}${server("b", `client_secret_sealed: "${b}"`)}`;
    files.write("gateway.yaml", bootFile(`previous_shared_secret: ["${previous}"]\n${routes}`));
    const opened = await open(files.path("gateway.yaml"));
    expect(opened.current().routes.map(oauth)).toEqual(["new", "old"]);
    expect(opened.sealKey).toEqual(now.publicJwk);
    expect(opened.sealKey).not.toHaveProperty("d");
  });

  test("sealed to another key are rejected at start, naming the route and not the secret", async () => {
    const foreign = await createSealing(createKeys([Buffer.alloc(32, 9)]));
    const sealed = await sealSecret(JSON.stringify(foreign.publicJwk), "hunter2");
    files.write("gateway.yaml", bootFile(`routes:\n${server("a", `client_secret_sealed: "${sealed}"`)}`));
    const error: unknown = await open(files.path("gateway.yaml")).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "config.invalid" });
    expect(String(error)).toContain('"routes.a" Cannot read a sealed secret: it was not sealed to this gateway\'s key');
    expect(String(error)).not.toContain("hunter2");
  });

  test("of the main configuration file may be references", async () => {
    files.write("token", "admin-token-of-the-test\n");
    files.write(
      "gateway.yaml",
      `shared_secret_ref: "env:SHARED"\nadmin_token_ref: "file:${files.path("token")}"\nstorage_url: "memory:"\ninsecure_server: true\n`,
    );
    const env = { SHARED: Buffer.alloc(32, 3).toString("base64") };
    const opened = await open(files.path("gateway.yaml"), { env });
    expect(opened.boot.adminToken).toBe("admin-token-of-the-test");
    expect(opened.boot.sharedSecrets).toEqual([Buffer.alloc(32, 3)]);
  });
});

test.each([
  ["before it", async () => {}],
  ["in the middle of it", () => new Promise((resolve) => void setImmediate(resolve))],
])("close() ends everything, also during a reload (%s)", async (_when, pause) => {
  files.write("gateway.yaml", bootFile());
  const opened = await open(files.directory);
  files.write("team-a.json", sliceFile("team-a", "1", 500));
  const reloading = opened.reload();
  await pause();
  await opened.close();
  await reloading;
  await opened.reload();
  await opened.close();
  expect(opened.status().lastError).toBeUndefined();
});
