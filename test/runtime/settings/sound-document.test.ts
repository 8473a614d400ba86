/** Documents without a mistake take a shorter way through validation: it gives what the schema gives, or nothing. */
import * as z from "zod/mini";

import { describe, expect, test } from "vitest";

import { routeFields, routeSchema } from "../../../runtime/config/route.ts";
import { settingsSchema } from "../../../runtime/config/settings.ts";
import { validDocument } from "../../../runtime/settings/types/registry.ts";

const ROUTE = {
  to: ["http://127.0.0.1:8000"],
  from: "https://a.example.com",
  set_request_headers: { "X-Team": "a" },
  policy: [{ allow: { or: [{ domain: { is: "example.com" } }] } }],
  mcp: { server: { max_request_bytes: 8192 } },
};

describe("a valid document", () => {
  test.each<[string, object]>([
    ["a route in any order", ROUTE],
    ["a route that has little", { from: "https://a.example.com" }],
    ["a route without a prototype", Object.assign(Object.create(null) as object, ROUTE)],
    ["nothing", {}],
  ])("is what the schema makes of it: %s", (_, document) => {
    const whole = routeSchema.safeParse(document);
    const sound = validDocument(routeSchema, document);
    expect(sound).toEqual(whole.success ? whole.data : undefined);
    // Order, too.
    if (whole.success) expect(JSON.stringify(sound)).toBe(JSON.stringify(whole.data));
  });

  test("is built from the members' schemas, one setting at a time", () => {
    const found = validDocument(routeSchema, ROUTE);
    expect(found).toBeDefined();
    for (const name of Object.keys(ROUTE)) expect(routeFields.map((field) => field.name)).toContain(name);
    expect(validDocument(settingsSchema, { log_level: "warn" })).toEqual({ log_level: "warn" });
  });
});

test.each<[string, unknown]>([
  ["an unknown setting", { ...ROUTE, nonsense: 1 }],
  ["a setting of every object", JSON.parse('{"__proto__": {}, "constructor": 1}')],
  ["a setting that is nothing", { ...ROUTE, prefix: undefined }],
  ["a wrong type", { ...ROUTE, to: 5 }],
  ["something unknown deep inside", { ...ROUTE, mcp: { server: { nonsense: true } } }],
  ["a list", [ROUTE]],
  ["null", null],
  ["text", "route"],
])("with %s is left to the schema", (_, document) => {
  expect(routeSchema.safeParse(document).success).toBe(false);
  expect(validDocument(routeSchema, document)).toBeUndefined();
});

test("only the schema decides checks of the whole document, and required members are reported", () => {
  const shape = { a: z.string(), b: z.exactOptional(z.string()) };
  expect(validDocument(z.strictObject(shape), { a: "" })).toEqual({ a: "" });
  expect(validDocument(z.strictObject(shape), { b: "" })).toBeUndefined();
  const whole = z.strictObject(shape).check(z.refine(() => false));
  expect(validDocument(whole, { a: "" })).toBeUndefined();
});

test("only blocks and lists are recalled, under their names, and invalid values are not", () => {
  const asked: string[] = [];
  const recall = (name: string, _written: object, read: () => unknown): unknown => {
    asked.push(name);
    return read();
  };
  const route = { from: "https://a.example.com", to: ["http://up.internal"], policy: [] };
  expect(validDocument(routeSchema, route, recall)).toEqual(route);
  expect(asked.sort()).toEqual(["policy", "to"]);
  expect(validDocument(routeSchema, { ...route, policy: [{ alow: {} }] }, recall)).toBeUndefined();
  expect(validDocument(routeSchema, route, () => undefined)).toBeUndefined();
});
