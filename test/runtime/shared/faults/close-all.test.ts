import { expect, test } from "vitest";

import { closeAll } from "../../../../runtime/shared/faults/close-all.ts";

test("closeAll() closes the newest first, continues after a failure, and reports all failures", async () => {
  const closed: string[] = [];
  const part = (name: string, failure?: Error) => ({
    close(): Promise<void> {
      closed.push(name);
      return failure ? Promise.reject(failure) : Promise.resolve();
    },
  });
  const [first, second] = [new Error("the disk is full"), new Error("the store is away")];
  const thrower = {
    close(): Promise<void> {
      closed.push("thrower");
      throw second;
    },
  };
  const done = closeAll([part("oldest"), thrower, part("failing", first), part("newest")]);
  await expect(done).rejects.toMatchObject({ errors: [first, second] });
  expect(closed).toEqual(["newest", "failing", "thrower", "oldest"]);
  await expect(closeAll([part("alone")])).resolves.toBeUndefined();
});
