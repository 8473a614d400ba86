/** Who validates: the first load is done where it is asked for, all later ones in a thread, and nothing is lost between them. */
import { Worker } from "node:worker_threads";

import { expect, test, vi } from "vitest";

import { publishedSources } from "../../../runtime/bundle/validation/validate-candidates.ts";
import { Validator } from "../../../runtime/bundle/validation/validator.ts";
import { bootFile, createConfigFiles, sliceFile } from "../../support/bundle-files.ts";

const NOTHING_PUBLISHED = publishedSources([]);

test("the first load needs no thread; later work has a thread that knows the first result", async () => {
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team.json", sliceFile("team", "1", 3));
  const validator = new Validator(files.directory);
  try {
    expect(await validator.load(NOTHING_PUBLISHED)).toMatchObject({ kind: "good", fresh: true });
    const texts = validator.routes();
    expect(texts).toHaveLength(3);
    const kept = await validator.inForce(1);
    expect(kept).toMatchObject({ changed: [{ owner: "team", since: 1 }], removed: [] });
    // Nobody has to be asked for that.
    expect(await validator.load(NOTHING_PUBLISHED)).toEqual({ kind: "unchanged" });
    expect(await validator.inForce(2)).toEqual({ changed: [], removed: [] });
    expect(sent).not.toHaveBeenCalled();

    // A thread that has loaded nothing takes away nobody's slice.
    await validator.validate(NOTHING_PUBLISHED, []);
    expect(sent.mock.calls[0]?.[0]).toMatchObject({ type: "validate", kept: kept.changed });
    expect(await validator.inForce(3)).toMatchObject({ changed: [], removed: [] });
    expect(await validator.load(NOTHING_PUBLISHED)).toEqual({ kind: "unchanged" });
    expect(validator.routes()).toBe(texts);

    files.replace("team.json", sliceFile("team", "2", 2));
    expect(await validator.load(NOTHING_PUBLISHED)).toMatchObject({ kind: "good", fresh: true });
    expect(validator.routes()).toHaveLength(2);
    expect(await validator.inForce(4)).toMatchObject({ changed: [{ owner: "team", since: 4 }], removed: [] });
  } finally {
    sent.mockRestore();
    await validator.close();
    files.close();
  }
});

test("the first validation of a supervisor needs no thread, the next has one", async () => {
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team.json", sliceFile("team", "1", 3));
  const validator = new Validator(files.directory);
  try {
    const first = await validator.validate(NOTHING_PUBLISHED, []);
    expect(sent).not.toHaveBeenCalled();
    expect(await validator.validate(NOTHING_PUBLISHED, [])).toEqual(first);
    expect(sent.mock.calls[0]?.[0]).toMatchObject({ type: "validate" });
  } finally {
    sent.mockRestore();
    await validator.close();
    files.close();
  }
});

test("an idle thread ends: unchanged files need no other, and a change is loaded by a new one", async () => {
  const started = vi.spyOn(Worker.prototype, "postMessage");
  const ended = vi.spyOn(Worker.prototype, "terminate");
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team.json", sliceFile("team", "1", 3));
  const validator = new Validator(files.directory, { idleMs: 1 });
  try {
    await validator.load(NOTHING_PUBLISHED);
    await validator.inForce(1);
    files.replace("team.json", sliceFile("team", "2", 2));
    expect(await validator.load(NOTHING_PUBLISHED)).toMatchObject({ kind: "good", fresh: true });
    expect(validator.routes()).toHaveLength(2);
    await expect.poll(() => ended.mock.contexts.length).toBe(1);
    started.mockClear();
    expect(await validator.load(NOTHING_PUBLISHED)).toEqual({ kind: "unchanged" });
    expect(started).not.toHaveBeenCalled();
    files.replace("team.json", sliceFile("team", "3", 4));
    expect(await validator.load(NOTHING_PUBLISHED)).toMatchObject({ kind: "good", fresh: true });
    expect(validator.routes()).toHaveLength(4);
  } finally {
    started.mockRestore();
    ended.mockRestore();
    await validator.close();
    files.close();
  }
});

test("after the end of its thread everything is loaded again", async () => {
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  files.write("team.json", sliceFile("team", "1", 3));
  const validator = new Validator(files.directory);
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  try {
    await validator.load(NOTHING_PUBLISHED);
    await validator.inForce(1);
    await validator.validate(NOTHING_PUBLISHED, []);
    const [thread] = sent.mock.contexts as unknown as Worker[];
    await thread?.terminate();
    expect(await validator.load(NOTHING_PUBLISHED)).toMatchObject({ kind: "good", fresh: true });
    expect(validator.routes()).toHaveLength(3);
  } finally {
    sent.mockRestore();
    await validator.close();
    files.close();
  }
});

test("a slow slice of one owner does not block validation for another", async () => {
  const files = createConfigFiles();
  files.write("gateway.yaml", bootFile());
  const validator = new Validator(files.directory);
  // oxlint-disable-next-line typescript/unbound-method -- called with its thread below
  const send = Worker.prototype.postMessage;
  const sent = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, message) {
    // The thread never hears of it, as if it were busy with it.
    if ((message as { owner?: string }).owner !== "slow") send.call(this, message);
  });
  try {
    await validator.load(NOTHING_PUBLISHED);
    await validator.inForce(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const slow = validator.parse(sliceFile("slow", "1", 1), "slow");
    const outcome = expect(slow).rejects.toThrow("Cannot validate: it takes too long");
    const team = validator.parse(sliceFile("team", "1", 1), "team");
    await vi.advanceTimersByTimeAsync(30_000);
    await outcome;
    expect(await team).toMatchObject({ ok: true });
  } finally {
    vi.useRealTimers();
    sent.mockRestore();
    await validator.close();
    files.close();
  }
});
