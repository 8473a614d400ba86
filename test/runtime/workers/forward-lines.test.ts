import { PassThrough } from "node:stream";

import { expect, test } from "vitest";

import { forwardLines } from "../../../runtime/workers/forward-lines.ts";

/** What reaches the output, one entry a write. */
function output(): { readonly stream: PassThrough; readonly writes: string[] } {
  const stream = new PassThrough();
  const writes: string[] = [];
  stream.on("data", (chunk: Buffer) => writes.push(chunk.toString("utf8")));
  return { stream, writes };
}

test("forwardLines() passes on whole lines only, however they come", async () => {
  const { stream, writes } = output();
  const [one, other] = [new PassThrough(), new PassThrough()];
  const done = Promise.all([forwardLines(one, stream), forwardLines(other, stream)]);
  for (const piece of ['{"a":', '"1"}\n{"b"', ':"2"}\n{"c":"3"}\n']) {
    one.write(piece);
    other.write(piece.toUpperCase());
    await new Promise((resolve) => setImmediate(resolve));
  }
  one.end();
  other.end();
  await done;
  expect(writes.every((write) => write.endsWith("}\n") && write.startsWith("{"))).toBe(true);
  const lines = writes.join("").trimEnd().split("\n");
  expect(lines.toSorted()).toEqual(['{"A":"1"}', '{"B":"2"}', '{"C":"3"}', '{"a":"1"}', '{"b":"2"}', '{"c":"3"}']);
});

test("forwardLines() ends the line of a worker that was killed in the middle of it", async () => {
  const { stream, writes } = output();
  const from = new PassThrough();
  const done = forwardLines(from, stream);
  from.write('{"whole":1}\n{"to');
  await new Promise((resolve) => setImmediate(resolve));
  from.destroy();
  await done;
  expect(writes.join("")).toBe('{"whole":1}\n{"to\n');
});

test("forwardLines() stops reading while its output is blocked", async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  const from = new PassThrough({ highWaterMark: 10 });
  void forwardLines(from, stream);
  let accepted = 0;
  while (from.write("0123456789\n") && accepted < 1_000) {
    accepted += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(accepted).toBeLessThan(10);
});
