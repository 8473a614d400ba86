/** Bundles of random values through the provider's calls as Terraform makes them: what is written plans empty. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { blockBundles, bundles, forms, withRoutes } from "../support/random-bundles.ts";
import type { Field } from "../../runtime/settings/field.ts";
import {
  bundleValues,
  publishedValues,
  renderSlice,
  sliceText,
} from "../../runtime/terraform/resource/bundle-document.ts";
import { bundleProvider } from "../../runtime/terraform/resource/bundle-provider.ts";
import { noStandIn } from "../../runtime/terraform/schema/document.ts";
import { createHandlers } from "../../runtime/terraform/protocol/handlers.ts";
import { readSliceText } from "../../runtime/terraform/publish/publish.ts";
import { readRoutes } from "../../runtime/terraform/resource/routes-attribute.ts";
import { blockType } from "../../runtime/terraform/schema/schema-model.ts";
import { BUNDLE_TYPE, BUNDLE_VERSION, bundleSchema, routeBlockFields } from "../../runtime/terraform/schema/schema.ts";
import { decodeValue, encodeValue, valueFromJson } from "../../runtime/terraform/protocol/value-codec.ts";
import { UNKNOWN, Unknown, type Value, type ValueMap } from "../../runtime/terraform/protocol/value.ts";
import type { Handler } from "../../runtime/terraform/protocol/handler.ts";

const type = blockType(bundleSchema);

/** The value as it is after its way over the wire. */
const typed = (value: Value): Value => decodeValue(type, encodeValue(type, value));
const message = (value: Value): object => ({ msgpack: encodeValue(type, value) });
type Calls = Readonly<Record<string, Handler>>;
const fresh = (): Calls => createHandlers(bundleProvider());

async function answer(calls: Calls, method: string, field: string, request: object): Promise<Value> {
  const reply = await calls[method]!({ typeName: BUNDLE_TYPE, ...request });
  return decodeValue(type, (reply[field] as { msgpack: Uint8Array }).msgpack);
}

const plan = (calls: Calls, prior: Value, config: Value): Promise<Value> =>
  answer(calls, "PlanResourceChange", "planned", {
    prior: message(prior),
    proposed: message(config),
    config: message(config),
  });
const slice = (bundle: Value): Record<string, unknown> =>
  renderSlice(bundle as ValueMap, { standIn: noStandIn, problems: [] });

/** Routes of the attribute do not show a plain secret that was written into the slice. */
function withoutSecrets(document: Record<string, unknown>, inAttribute: ValueMap): unknown {
  const routes = Object.entries(document["routes"] as object).map(([name, route]): [string, unknown] => {
    const text = JSON.stringify(route, (key, value: unknown) => (SECRETS.has(key) ? undefined : value));
    return [name, Object.hasOwn(inAttribute, name) ? JSON.parse(text) : route];
  });
  return { ...document, routes: Object.fromEntries(routes) };
}

const SECRETS = new Set(["client_secret", "client_key", "assertion", "secret"]);

describe("a bundle of any values", () => {
  test("is planned as it is written, and then not again: from its state, after reading, after importing", async () => {
    await fc.assert(
      fc.asyncProperty(bundles, async (config) => {
        const calls = fresh();
        const state = (await plan(calls, null, config)) as ValueMap;
        const { sha256, generation, bundle_json } = state;
        expect(state).toEqual(typed({ ...config, sha256, generation, bundle_json } as ValueMap));
        expect(await plan(calls, state, config)).toEqual(state);

        const stored = { version: BUNDLE_VERSION, state: { json: Buffer.from(JSON.stringify(state)) } };
        expect(await answer(calls, "UpgradeResourceState", "state", stored)).toEqual(state);
        expect(await answer(calls, "ReadResource", "state", { state: message(state) })).toEqual(state);

        // As it is found where it was published, by those who know it and by those who do not.
        const text = bundle_json as string;
        const known = readSliceText(text, { text, digest: sha256 as string });
        const found = readSliceText(text);
        expect(known).toEqual(found);
        if (found.kind !== "slice") throw new Error(JSON.stringify(found));
        expect(sliceText(found.document)).toBe(text);
        expect(typed({ ...state, ...publishedValues(found, state) })).toEqual(state);

        const imported = typed({ ...state, ...publishedValues(found, {}) });
        expect(slice(imported)).toEqual(slice(state));
        const planned = (await plan(calls, imported, config)) as ValueMap;
        expect([planned["sha256"], planned["bundle_json"]]).toEqual([sha256, bundle_json]);
      }),
      { numRuns: 150 },
    );
  });

  test("publishes the same whether its routes are blocks or in the attribute", () => {
    fc.assert(
      fc.property(blockBundles, forms, fc.nat(2), (bundle, form, stay) => {
        const [blocks, other] = [slice(bundle), slice(withRoutes(bundle, form, stay))];
        const all = bundle["route"] as ValueMap;
        expect(sliceText(withoutSecrets(other, all))).toBe(sliceText(withoutSecrets(blocks, all)));
      }),
      { numRuns: 150 },
    );
  });

  test("is planned back after any drift", async () => {
    await fc.assert(
      fc.asyncProperty(bundles, bundles, async (config, other) => {
        const calls = fresh();
        const state = (await plan(calls, null, config)) as ValueMap;
        const drifted = readSliceText(sliceText(slice(other)));
        if (drifted.kind !== "slice") throw new Error(JSON.stringify(drifted));
        const seen = typed({ ...state, ...publishedValues(drifted, state) });
        const { routes } = readRoutes(seen as ValueMap);
        expect(withoutSecrets(slice(seen), routes)).toEqual(withoutSecrets(slice(other), routes));
        const planned = (await plan(calls, seen, config)) as ValueMap;
        expect(planned["sha256"]).toBe(state["sha256"]);
        expect(slice(planned)).toEqual(JSON.parse(planned["bundle_json"] as string));
      }),
      { numRuns: 100 },
    );
  });

  test("is answered alike by a process that knows others and by one that knows nothing", async () => {
    // Alike but for what is promised of their owner, as bundles of one module are; large enough to be kept.
    const owners = ["8101c2", "8201c202a57465616d2d"].map((hex) => new Unknown(Buffer.from(hex, "hex")));
    const large = { signout_redirect_url: "x".repeat(5000) };
    const made = fc.tuple(bundles, fc.constantFrom<Value>("team", "crew", UNKNOWN, ...owners));
    const several = fc
      .array(made, { minLength: 2, maxLength: 3 })
      .map((each) => each.map(([bundle, owner], at) => ({ ...(at > 1 ? each[0]![0] : bundle), ...large, owner })));
    const order = fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.boolean()), { minLength: 3, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(several, order, async (configs, steps) => {
        const calls = fresh();
        const states = await Promise.all(configs.map((config) => plan(fresh(), null, { ...config, owner: "team" })));
        for (const [one, other, bare] of steps) {
          const config = configs[one % configs.length]!;
          const prior = bare ? null : states[other % states.length]!;
          const [here, there] = await Promise.all([plan(calls, prior, config), plan(fresh(), prior, config)]);
          expect(here).toEqual(there);
          const known = await calls["ValidateResourceConfig"]!({ typeName: BUNDLE_TYPE, config: message(config) });
          const anew = await fresh()["ValidateResourceConfig"]!({ typeName: BUNDLE_TYPE, config: message(config) });
          expect(known).toEqual(anew);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a state of the first schema", () => {
  /** Version 0 had the members of a group where the group is. */
  const flat = (route: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      routeBlockFields.flatMap((field): [string, unknown][] => {
        const isGroup = "isGroup" in field;
        if (!isGroup) return Object.entries(route).filter(([name]) => name === field.name || isSpelling(field, name));
        const inner = route[field.name] as Readonly<Record<string, unknown>> | null;
        const absent = valueFromJson(type, { route: { a: { [field.name]: {} } } });
        return Object.entries(inner ?? (absent as { route: { a: Record<string, object> } }).route.a[field.name]!);
      }),
    );
  const isSpelling = ({ kind, name }: Field, attribute: string): boolean =>
    kind === "secret" && attribute.startsWith(`${name}_`);

  test("is read with every setting where it is now", async () => {
    await fc.assert(
      fc.asyncProperty(bundles, async (config) => {
        const state = (await plan(fresh(), null, config)) as { route: Record<string, Record<string, unknown>> };
        const routes = Object.entries(state.route).map(([label, route]) => [label, flat(route)]);
        const old = { ...state, route: Object.fromEntries(routes) as Record<string, unknown> };
        const read = await answer(fresh(), "UpgradeResourceState", "state", {
          version: 0,
          state: { json: Buffer.from(JSON.stringify(old)) },
        });
        expect(slice(read)).toEqual(slice(state as unknown as Value));
        expect(bundleValues(slice(read), {})).toEqual(bundleValues(slice(state as unknown as Value), {}));
        expect(((await plan(fresh(), read, config)) as ValueMap)["sha256"]).toBe((read as ValueMap)["sha256"]);
      }),
      { numRuns: 100 },
    );
  });
});
