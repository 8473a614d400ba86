import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { connectionLimits } from "../../../../runtime/http/listener/connection-limits.ts";

test.each([
  [1_024, { public: 409, upstreams: 409, other: 51, own: 40 }],
  [20_000, { public: 8_000, upstreams: 8_000, other: 1_000, own: 800 }],
  [2_000_000, { public: 800_000, upstreams: 800_000, other: 100_000, own: 1_024 }],
  [2, { public: 1, upstreams: 1, other: 1, own: 2 }],
])("connectionLimits() leaves descriptors for upstreams and files: of %i", (descriptors, expected) => {
  expect(connectionLimits(undefined, descriptors)).toEqual(expected);
});

test("connectionLimits() uses the configured number", () => {
  expect(connectionLimits(7, 1_024)).toEqual({ public: 7, upstreams: 409, other: 51, own: 40 });
  expect(connectionLimits(700, 1_024)).toEqual({ public: 700, upstreams: 120, other: 51, own: 40 });
});

test.runIf(process.platform === "linux")("connectionLimits() reads the limit of this process", () => {
  const soft = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  expect(connectionLimits(undefined)).toEqual(connectionLimits(undefined, Number(soft)));
});
