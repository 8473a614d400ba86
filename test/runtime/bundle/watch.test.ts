import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createWatch, type Watch } from "../../../runtime/bundle/watch.ts";
import { createLog } from "../../../runtime/shared/log.ts";

const log = createLog({ level: "silent" });

/** A watch that never polls, and a promise of its next hint. */
function hinting(isOwnOutput?: (path: string) => boolean): {
  watch: Watch;
  next(): Promise<void>;
  readonly hints: number;
} {
  let hints = 0;
  let changed = Promise.withResolvers<void>();
  const onHint = (): void => {
    hints += 1;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const watch = createWatch({ onHint, log, quietMs: 5, pollEveryMs: 3_600_000, ...(isOwnOutput && { isOwnOutput }) });
  return {
    watch,
    next: () => changed.promise,
    get hints() {
      return hints;
    },
  };
}

test("createWatch() ignores the gateway's own log next to the configuration", async () => {
  const directory = mkdtempSync(join(tmpdir(), "watch-"));
  const own = join(directory, "authorize.log");
  const filtered = hinting((path) => path === own);
  // Sees everything: once it has told of the log, the other one has had its chance, too.
  const control = hinting();
  try {
    for (const each of [filtered, control]) {
      // Following a directory is itself a reason to look.
      const first = each.next();
      await each.watch.follow(new Set([directory]));
      await first;
    }
    const before = filtered.hints;
    for (let round = 0; round < 3; round += 1) {
      const seen = control.next();
      writeFileSync(own, `${round}\n`, { flag: "a" });
      await seen;
    }
    expect(filtered.hints).toBe(before);

    const changed = filtered.next();
    writeFileSync(join(directory, "gateway.yaml"), "routes: []\n");
    await changed;
    expect(filtered.hints).toBe(before + 1);
  } finally {
    filtered.watch.close();
    control.watch.close();
    rmSync(directory, { recursive: true });
  }
});
