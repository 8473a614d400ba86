/** The demo goes on after every way of saving that editors have. */
import { mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { onSave } from "../../examples/demo/on-save.ts";

test("a file that is renamed over, removed and made anew, or written in place counts as saved, again and again", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateform-save-"));
  const file = join(directory, "gateway.ts");
  writeFileSync(file, "");
  let wanted = "";
  let saved = Promise.withResolvers<void>();
  const watcher = onSave(file, () => {
    if (readFileSync(file, "utf8") === wanted) saved.resolve();
    return Promise.resolve();
  });
  const ways: readonly ((text: string) => void)[] = [
    (text) => {
      writeFileSync(`${file}~`, text);
      renameSync(`${file}~`, file);
    },
    (text) => {
      unlinkSync(file);
      writeFileSync(file, text);
    },
    (text) => writeFileSync(file, text),
  ];
  try {
    for (const [index, save] of [...ways, ...ways].entries()) {
      saved = Promise.withResolvers<void>();
      wanted = `save ${index}`;
      save(wanted);
      await saved.promise;
    }
    expect(await watcher.close()).toBeUndefined();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
