import { describe, expect, test } from "vitest";

import { withFormats, type RecordFormats } from "../../../runtime/store/formats.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { createTestClock } from "../../support/clock.ts";

const third: RecordFormats = {
  pet: {
    schema: 3,
    upgrades: [
      ({ name, ...rest }) => ({ ...rest, names: [name ?? "nameless"] }),
      (value) => ({ ...value, legs: value["kind"] === "bird" ? 2 : 4 }),
    ],
  },
};

function stores() {
  const raw = createMemoryStore({ clock: createTestClock() });
  return { raw, store: withFormats(raw, third) };
}

describe("withFormats()", () => {
  test("stamps what it writes and leaves unlisted kinds alone", async () => {
    const { raw, store } = stores();
    await store.put("pet:1", { names: ["Rex"], legs: 4 }, { tags: ["pets"] });
    await store.put("other:1", { a: 1 });
    await store.put("text", "plain");
    expect((await raw.get("pet:1"))?.value).toEqual({ names: ["Rex"], legs: 4, schema: 3 });
    expect((await raw.get("other:1"))?.value).toEqual({ a: 1 });
    expect((await store.get("text"))?.value).toBe("plain");
  });

  test("brings older records up to date, one step after the other, however they are read", async () => {
    const { raw, store } = stores();
    await raw.put("pet:1", { schema: 1, name: "Rex", kind: "dog" }, { tags: ["pets"] });
    await raw.put("pet:2", { schema: 2, names: ["Pip"], kind: "bird" }, { tags: ["pets"] });
    const rex = { schema: 3, names: ["Rex"], kind: "dog", legs: 4 };
    const pip = { schema: 3, names: ["Pip"], kind: "bird", legs: 2 };
    expect((await store.get("pet:1"))?.value).toEqual(rex);
    expect((await store.list("pets")).map(({ value }) => value)).toEqual([rex, pip]);
    expect((await store.page({ prefix: "pet:", limit: 9 })).map(({ value }) => value)).toEqual([rex, pip]);
    expect((await store.take("pet:2"))?.value).toEqual(pip);
    // Reading changes nothing: versions stay good for a conditional put.
    expect(await store.put("pet:1", rex, { ifVersion: 1 })).toEqual({ ok: true, version: 2 });
    expect((await raw.get("pet:1"))?.value).toEqual(rex);
  });

  test.each([4, 0, 1.5, "1", null])("never hands out a record of schema %j", async (schema) => {
    const { raw, store } = stores();
    await raw.put("pet:1", { schema, secret: "value" }, { tags: ["pets"] });
    const refusal = expect.objectContaining({
      code: "store.unavailable",
      message: expect.stringContaining("pet record"),
    });
    await expect(store.get("pet:1")).rejects.toEqual(refusal);
    // It can be listed, to be ended; its content cannot be seen.
    const [listed] = await store.list("pets");
    expect(listed?.key).toBe("pet:1");
    expect(() => listed?.value).toThrow(refusal);
    await expect(store.get("pet:1")).rejects.not.toThrow("value");
  });
});
