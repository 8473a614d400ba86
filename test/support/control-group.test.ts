import { expect, test } from "vitest";

import { placeOf } from "./control-group.ts";

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
