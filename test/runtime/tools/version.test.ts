import { describe, expect, test } from "vitest";

import { readBuild, VERSION } from "../../../runtime/shared/version.ts";
import { versionText } from "../../../runtime/tools/version.ts";
import { runCli } from "../../../runtime/cli.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

describe("gateway version", () => {
  test("states the commit and its date for a release", () => {
    const text = versionText(true, readBuild(`${COMMIT} 1796054689`));
    expect(JSON.parse(text)).toEqual({
      version: VERSION,
      commit: COMMIT,
      date: "2026-11-30T16:04:49.000Z",
      node: process.versions.node,
      platform: `${process.platform} ${process.arch}`,
      mcp: ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
      terraform_protocol: "6.0",
    });
  });

  test("has neither in a checkout, whose files may be changed", () => {
    expect(JSON.parse(versionText(true))).toMatchObject({ commit: null, date: null });
    expect(versionText(false)).toContain("\ncommit: unknown (not a release)\n");
  });

  test.each(["$Format:%H %ct$", COMMIT, `${COMMIT.slice(1)} 1`, `${COMMIT} 1 `, ""])(
    "reads no build from %j",
    (stamp) => {
      expect(readBuild(stamp)).toBeUndefined();
    },
  );

  test("is a command", async () => {
    expect(await runCli(["version", "--json"])).toBe(0);
  });
});
