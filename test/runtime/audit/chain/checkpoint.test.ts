/** What a checkpoint says in its text, where checkpoints come, and that nothing is read that was not signed. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { startChain } from "../../../../runtime/audit/chain/chain.ts";
import {
  AUDIT_KEY_NAME,
  parseCheckpoint,
  signCheckpoint,
  type Checkpoint,
} from "../../../../runtime/audit/chain/checkpoint.ts";
import { positionOf } from "../../../../runtime/audit/chain/lines.ts";
import { countPlaces, MAX_UNSIGNED } from "../../../../runtime/audit/chain/places.ts";
import { createNoteSigner, openNote, parseVerifierKey } from "../../../../runtime/audit/chain/signed-note.ts";

const signer = createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 1));
const hash = `${"A".repeat(43)}=`;
const checkpoint: Checkpoint = {
  instance: "gateway-1",
  size: 12,
  root: hash,
  time: "2026-01-02T03:04:05.678Z",
  leavesDigest: hash,
};

const opened = (note: string): string => {
  const verifier = parseVerifierKey(signer.verifierKey);
  const found = openNote(note, verifier ? [verifier] : []);
  if (found.kind !== "signed") throw new Error(found.kind);
  return found.text;
};

test("parseCheckpoint() reads what signCheckpoint() wrote, and no text with more before or behind it", () => {
  const text = opened(signCheckpoint(checkpoint, signer));
  expect(parseCheckpoint(text)).toEqual(checkpoint);
  for (const other of [`${text}size 13\n`, `${text}\n`, ` ${text}`, `x\n${text}`, text.slice(0, -1)])
    expect(parseCheckpoint(other)).toBeUndefined();
});

test.each([
  ["more behind it", (line: string) => `${line} x`],
  ["more characters behind it", (line: string) => `${line}*`],
  ["something before it", (line: string) => `x${line}`],
])("openNote() rejects a note whose signature has %s", (_, change) => {
  const verifier = parseVerifierKey(signer.verifierKey);
  const [text = "", line = ""] = signer.sign("text\n").split("\n\n");
  const verifiers = verifier ? [verifier] : [];
  expect(openNote(`${text}\n\n${line}`, verifiers).kind).toBe("signed");
  expect(openNote(`${text}\n\n${change(line.trimEnd())}\n`, verifiers).kind).toBe("bad");
});

test("startChain() returns the position of each record, also of long ones, and works without checkpoints", () => {
  const lines: string[] = [];
  const chain = startChain({
    instance: "gateway-1",
    signer,
    clock: { now: () => 0 },
    seen: [],
    version: "1",
    write: (line) => lines.push(line.toString()),
  });
  for (const length of [1, 20_000, 40_000]) {
    const place = chain.add(Buffer.from(`{"x":"${"y".repeat(length)}"}\n`));
    expect(lines).toHaveLength(place + 1);
    expect(lines[place]).toMatch(new RegExp(`^\\{"x":"y{${length}}","instance":"gateway-1","seq":${place},"salt":`));
    expect(positionOf(Buffer.from(lines[place]?.trimEnd() ?? ""))).toMatchObject({ instance: "gateway-1", seq: place });
  }
});

test("positionOf() reads a line that is no longer than the checked tail", () => {
  const tail = ',"instance":"a","seq":7}';
  expect(positionOf(Buffer.from(tail))).toEqual({ instance: "a", seq: 7, hasSalt: false });
  expect(positionOf(Buffer.from(`${"x".repeat(400)}${tail}`))).toEqual({ instance: "a", seq: 7, hasSalt: false });
});

describe("countPlaces()", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("has a checkpoint after MAX_UNSIGNED records, and not before", () => {
    const checkpoints = vi.fn<() => void>();
    const places = countPlaces(2, checkpoints);
    for (let index = 1; index < MAX_UNSIGNED; index += 1) places.take();
    expect(checkpoints).not.toHaveBeenCalled();
    places.take();
    expect(checkpoints).toHaveBeenCalledTimes(1);
    expect(places.last).toBe(MAX_UNSIGNED + 1);
    places.take();
    expect(places.last).toBe(MAX_UNSIGNED + 3);
    places.close();
  });

  test("has one a second behind the first record that is not signed, however many follow", () => {
    const checkpoints = vi.fn<() => void>();
    const places = countPlaces(2, checkpoints);
    places.take();
    vi.advanceTimersByTime(300);
    places.take();
    vi.advanceTimersByTime(300);
    places.take();
    vi.advanceTimersByTime(399);
    expect(checkpoints).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(checkpoints).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(10_000);
    expect(checkpoints).toHaveBeenCalledTimes(1);
  });

  test("has none after it was closed", () => {
    const checkpoints = vi.fn<() => void>();
    const places = countPlaces(2, checkpoints);
    places.take();
    places.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
