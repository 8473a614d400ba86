/** Writing files again and again: nothing of a configuration that is no longer in force stays, in either thread. */
import { text } from "node:stream/consumers";
import { getHeapSnapshot } from "node:v8";
import { Worker } from "node:worker_threads";

import { expect, test, vi } from "vitest";

import { openBundle } from "../../../runtime/bundle/bundle.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { bootFile, createConfigFiles, sliceFile } from "../../support/bundle-files.ts";
import { createTestClock } from "../../support/clock.ts";

/** What code keeps. Machine code, and what V8 knows of it, comes and goes as functions get hot. */
const KEPT_BY_CODE = new Set(["object", "closure"]);

interface HeapSnapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } };
  readonly nodes: readonly number[];
}

/** Objects and functions that are reachable, after a full collection, which taking a snapshot begins with. */
async function countObjects(snapshot: AsyncIterable<unknown>): Promise<number> {
  const { snapshot: head, nodes } = JSON.parse(await text(snapshot as AsyncIterable<Buffer>)) as HeapSnapshot;
  const { node_fields: fields, node_types: types } = head.meta;
  const type = fields.indexOf("type");
  let count = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    if (KEPT_BY_CODE.has(types[0][nodes[at + type] as number] ?? "")) count += 1;
  }
  return count;
}

test("replaced configurations are not retained, neither here nor in the validation thread", async () => {
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  const files = createConfigFiles();
  const slice = (mark: number): string => sliceFile("team", `mark ${mark}`, 10);
  files.write("gateway.yaml", bootFile());
  files.write("team.json", slice(0));
  const bundle = await openBundle({
    path: files.directory,
    log: silentLog(),
    clock: createTestClock(),
    env: {},
    quietMs: 60_000,
    pollEveryMs: 3_600_000,
  });
  let mark = 0;
  const replace = async (times: number): Promise<void> => {
    for (const end = mark + times; mark < end;) {
      mark += 1;
      files.replace("team.json", slice(mark));
      await bundle.reload();
    }
  };
  try {
    // The first load of a process has no thread.
    expect(sent).not.toHaveBeenCalled();
    await replace(1);
    const [thread] = sent.mock.contexts as unknown as Worker[];
    // It would retain every message.
    sent.mockRestore();
    const counts = async (): Promise<readonly number[]> => [
      await countObjects(getHeapSnapshot()),
      thread ? await countObjects(await thread.getHeapSnapshot()) : Number.NaN,
    ];
    await replace(19);
    const before = await counts();
    await replace(REPLACED);
    expect(bundle.current().generation).toBe(21 + REPLACED);
    const after = await counts();
    expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([BELOW, BELOW]);
  } finally {
    await bundle.close();
    files.close();
  }
});

/** One object for each would be as many. */
const REPLACED = 80;
const BELOW = expect.toSatisfy((count: number) => count < REPLACED / 2, "a few") as unknown;
