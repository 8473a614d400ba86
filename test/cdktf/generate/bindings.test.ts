import { readdir, readFile } from "node:fs/promises";

import { Testing } from "cdktf";
import { describe, expect, test } from "vitest";

import { blocksToAttributes } from "../../../cdktf/generate/bindings.ts";
import { generatedFiles } from "../../../cdktf/generate.ts";

describe("blocksToAttributes", () => {
  test("turns map, list and single blocks into nested attributes, at every depth", () => {
    const text = { type: "string", required: true };
    const block = {
      attributes: { owner: text },
      block_types: {
        route: {
          nesting_mode: "map",
          block: { attributes: { from: text }, block_types: { client: { nesting_mode: "single", block: {} } } },
        },
      },
    };
    expect(blocksToAttributes(block)).toEqual({
      attributes: {
        owner: text,
        route: {
          optional: true,
          nested_type: {
            nesting_mode: "map",
            attributes: {
              from: text,
              client: { optional: true, nested_type: { nesting_mode: "single", attributes: {} } },
            },
          },
        },
      },
    });
  });

  test("keeps a block required that must occur at least once", () => {
    const block = { block_types: { to: { nesting_mode: "list", min_items: 1, block: {} } } };
    expect(blocksToAttributes(block).attributes?.["to"]).toMatchObject({ required: true });
  });
});

describe("generateBindings", () => {
  test("gives exactly the files in generated/; `node cdktf/generate.ts` brings them up to date", async () => {
    const directory = new URL("../../../cdktf/generated/", import.meta.url);
    const made = await generatedFiles();
    expect([...made.keys()].toSorted()).toEqual((await readdir(directory)).toSorted());
    for (const [name, text] of made) {
      expect(
        text === (await readFile(new URL(name, directory), "utf8")),
        `${name} lags behind what it is made from`,
      ).toBe(true);
    }
  });

  test("makes bindings that can be used by themselves, routes and empty blocks included", async () => {
    const { Bundle } = await import("../../../cdktf/generated/bundle.ts");
    const route = { from: "https://a.example.com", to: ["http://a:1"], preserveHostHeader: true, mcp: { client: {} } };
    const json = Testing.synthScope((scope) => new Bundle(scope, "bundle", { owner: "a", route: { a: route } }));
    expect(JSON.parse(json)).toMatchObject({
      resource: {
        gateway_bundle: {
          bundle: {
            owner: "a",
            route: { a: { from: route.from, to: route.to, preserve_host_header: true, mcp: { client: {} } } },
          },
        },
      },
    });
  });

  test("makes text that Node runs without compiling and that contains no links", async () => {
    const { Bundle } = await import("../../../cdktf/generated/bundle.ts");
    const { GatewayProvider } = await import("../../../cdktf/generated/provider.ts");
    expect([Bundle.tfResourceType, GatewayProvider.tfResourceType]).toEqual(["gateway_bundle", "gateway"]);
    const text = await readFile(new URL("../../../cdktf/generated/bundle.ts", import.meta.url), "utf8");
    expect(text).not.toMatch(/registry\.|constructor\((?:protected|private|public) /);
  });
});
