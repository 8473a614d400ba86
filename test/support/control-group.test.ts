import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { type ControlGroup, delegating, makeControlGroup, placeOf } from "./control-group.ts";

const V1 = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n";
const V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev 0 0\n";

test.each([
  [
    "version 1, at its root",
    V1,
    "3:cpuacct,cpu:/\n1:name=systemd:/user\n",
    { version: 1, parent: "/sys/fs/cgroup/cpu,cpuacct/" },
  ],
  ["version 1, in a group", V1, "3:cpu:/a/b\n", { version: 1, parent: "/sys/fs/cgroup/cpu,cpuacct/a/b" }],
  ["version 2: next to the own group", V2, "0::/a/b\n", { version: 2, parent: "/sys/fs/cgroup/a" }],
  ["version 2, at its root", V2, "0::/\n", { version: 2, parent: "/sys/fs/cgroup/" }],
  [
    "both: version 1 has the controller",
    V1 + V2,
    "0::/x\n3:cpu:/a\n",
    { version: 1, parent: "/sys/fs/cgroup/cpu,cpuacct/a" },
  ],
  ["version 1 without the controller", "cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n", "3:pids:/\n", undefined],
  ["none", "", "", undefined],
] as const)("placeOf() finds where a group with a quota is made: %s", (_name, mounts, groups, found) => {
  expect(placeOf("cpu", mounts, groups)).toEqual(found);
});

test("version 2: the group is made where the controller is given to groups, or the error says that it is not", () => {
  const root = mkdtempSync(join(tmpdir(), "control-group-"));
  try {
    const parent = join(root, "a/b");
    mkdirSync(parent, { recursive: true });
    for (const [path, given] of [
      [".", "cpu memory"],
      ["a", "memory pids"],
      ["a/b", ""],
    ] as const)
      writeFileSync(join(root, path, "cgroup.subtree_control"), `${given}\n`);
    expect(delegating("memory", { version: 2, parent }, root).parent).toBe(join(root, "a"));
    expect(delegating("cpu", { version: 2, parent }, root).parent).toBe(root);
    writeFileSync(join(root, "cgroup.subtree_control"), "pids\n");
    expect(() => delegating("cpu", { version: 2, parent }, root)).toThrow("does not give cpu to groups");
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("a process above the limit is killed and counted, and nothing is left", ({ skip }) => {
  let group: ControlGroup;
  try {
    group = makeControlGroup(`gateform-test-${process.pid}`, { cpus: 0.9, memoryBytes: 16 * 2 ** 20 });
  } catch (error) {
    skip(String(error));
    return;
  }
  const { directories, enter } = group;
  try {
    // It keeps the last line, which never ends.
    const { status } = spawnSync("/bin/sh", ["-c", `${enter} && head -c 48M /dev/zero | tail > /dev/null`]);
    expect(status).toBe(137);
    expect(group.memoryKills()).toBe(1);
    expect(group.workingSetBytes()).toBeLessThan(16 * 2 ** 20);
    expect(group.pids()).toEqual([]);
  } finally {
    group.remove();
  }
  expect(directories.filter((directory) => existsSync(directory))).toEqual([]);
});
