/** The protocol layer over a provider that does what a test says. */
import { describe, expect, test } from "vitest";

import { GatewayError } from "../../runtime/shared/errors.ts";
import { FunctionError, type Provider, type TerraformResource } from "../../runtime/terraform/protocol/provider.ts";
import { createProviderLog } from "../../runtime/terraform/protocol/provider-log.ts";
import { blockType, type SchemaBlock } from "../../runtime/terraform/schema/schema-model.ts";
import { providerImplementation, providerService } from "../../runtime/terraform/protocol/service.ts";
import { decodeValue, encodeValue } from "../../runtime/terraform/protocol/value-codec.ts";
import type { ValueMap } from "../../runtime/terraform/protocol/value.ts";
import { decodeMessage, encodeMessage, type Message } from "../../runtime/terraform/protocol/wire.ts";

const schema: SchemaBlock = {
  doc: "A thing.",
  attributes: [
    { name: "name", type: "string", use: "required", doc: "Its name." },
    { name: "size", type: "number", use: "computed", doc: "Its size." },
  ],
  blocks: [],
};
const type = blockType(schema);
const value = (state: ValueMap | null): Message => ({ msgpack: encodeValue(type, state) });
const read = (message: unknown): unknown => decodeValue(type, (message as { msgpack: Buffer }).msgpack);

const failing = (): never => {
  throw new GatewayError("test.failed", "Cannot do it: the test says so");
};
const resource: TerraformResource = {
  schema,
  validate: () => [],
  plan: (_prior, config) =>
    Promise.resolve({
      state: config && { ...config, size: 1 },
      requiresReplace: [[{ attribute: "name" }]],
      diagnostics: [],
    }),
  apply: (_prior, planned) => Promise.resolve({ state: planned, diagnostics: [] }),
  read: (state) => Promise.resolve({ state: { ...state, size: 2 }, diagnostics: [] }),
  importState: (id) => Promise.resolve({ state: { name: id, size: 0 }, diagnostics: [] }),
};

interface Call {
  readonly lines: string[];
  readonly call: (method: string, request: Message) => Promise<Message>;
}

/** Messages go through their bytes both ways, as on the wire. */
function serve(change: Partial<TerraformResource> = {}, functions: Provider["functions"] = new Map()): Call {
  const lines: string[] = [];
  const log = createProviderLog(
    (line) => lines.push(line),
    () => 0,
  );
  const provider: Provider = {
    schema: { doc: "", attributes: [], blocks: [] },
    resources: new Map([["test_thing", { ...resource, ...change }]]),
    functions,
  };
  const handlers = providerImplementation(provider, log) as Record<
    string,
    (call: { request: Message }, reply: (error: null, message: Message) => void) => void
  >;
  return {
    lines,
    call: (name, request) =>
      new Promise((resolve) => {
        const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = providerService[name]!;
        handlers[name]!({ request: requestDeserialize(requestSerialize(request)) as Message }, (_error, message) => {
          resolve(responseDeserialize(responseSerialize(message)) as Message);
        });
      }),
  };
}

describe("providerImplementation()", () => {
  test("plans: computed values, paths that need a replacement, and the private bytes as they came", async () => {
    const planned = await serve().call("PlanResourceChange", {
      typeName: "test_thing",
      prior: value(null),
      proposed: value({ name: "a" }),
      config: value({ name: "a" }),
      priorPrivate: Buffer.from("p"),
    });
    expect(read(planned["planned"])).toEqual({ name: "a", size: 1 });
    expect(planned["requiresReplace"]).toEqual([{ steps: [{ attribute: "name" }] }]);
    expect(planned["private"]).toEqual(Buffer.from("p"));
  });

  test("plans a destroy when the proposed state is null, whatever the configuration says", async () => {
    const planned = await serve().call("PlanResourceChange", {
      typeName: "test_thing",
      prior: value({ name: "a", size: 1 }),
      proposed: value(null),
      config: value({ name: "a" }),
    });
    expect(read(planned["planned"])).toBeNull();
  });

  test("keeps the prior state when an apply fails", async () => {
    const prior = { name: "old", size: 1 };
    const answer = await serve({ apply: () => Promise.resolve().then(failing) }).call("ApplyResourceChange", {
      typeName: "test_thing",
      prior: value(prior),
      planned: value({ name: "new", size: 2 }),
      config: value({ name: "new" }),
    });
    expect(read(answer["state"])).toEqual(prior);
    expect(answer["diagnostics"]).toMatchObject([{ severity: 1, detail: "Cannot do it: the test says so" }]);
  });

  test("reports a failure as a diagnostic, and names its own bugs as such", async () => {
    const request = { typeName: "test_thing", state: value({ name: "a", size: 1 }) };
    const expected = await serve({ read: failing }).call("ReadResource", request);
    expect(expected["diagnostics"]).toMatchObject([{ severity: 1, detail: "Cannot do it: the test says so" }]);
    const bug = serve({
      read: () => {
        throw new TypeError("x is not a function");
      },
    });
    const answer = await bug.call("ReadResource", request);
    expect(answer["diagnostics"]).toMatchObject([
      { detail: expect.stringContaining("This is a mistake of the provider (ReadResource)") as string },
    ]);
    expect(bug.lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { "@level": "error", method: "ReadResource", code: "terraform.bug" },
    ]);
  });

  test("puts a path and its text into a diagnostic", async () => {
    const path = [{ attribute: "route" }, { key: "a" }, { attribute: "to" }, { index: 0 }] as const;
    const { diagnostics } = await serve({
      validate: () => [{ severity: "warning", summary: "s", detail: "d", path }],
    }).call("ValidateResourceConfig", {
      typeName: "test_thing",
      config: value({ name: "a" }),
    });
    expect(diagnostics).toEqual([
      {
        severity: 2,
        summary: "s",
        detail: 'd\n\nAt route["a"].to[0]',
        path: { steps: [{ attribute: "route" }, { keyText: "a" }, { attribute: "to" }, { keyNumber: 0 }] },
      },
    ]);
  });

  test("tells the resource whether Terraform supports write-only attributes", async () => {
    const seen: boolean[] = [];
    const { call } = serve({
      validate: (_config, caller) => {
        seen.push(caller.writeOnlyAttributes);
        return [];
      },
    });
    await call("ValidateResourceConfig", { typeName: "test_thing", config: value({ name: "a" }) });
    await call("ValidateResourceConfig", {
      typeName: "test_thing",
      config: value({ name: "a" }),
      capabilities: { writeOnly: true },
    });
    expect(seen).toEqual([false, true]);
  });

  test("brings a stored state to the schema of today", async () => {
    const json = Buffer.from(JSON.stringify({ name: "a", gone: true }));
    const answer = await serve().call("UpgradeResourceState", { typeName: "test_thing", version: 0, state: { json } });
    expect(read(answer["state"])).toEqual({ name: "a", size: null });
  });

  test("imports by id", async () => {
    const answer = await serve().call("ImportResourceState", { typeName: "test_thing", id: "x" });
    const [imported] = answer["imported"] as { typeName: string; state: unknown }[];
    expect(imported?.typeName).toBe("test_thing");
    expect(read(imported?.state)).toEqual({ name: "x", size: 0 });
  });

  test("refuses a resource type and a value that it does not have", async () => {
    const unknownType = await serve().call("ReadResource", { typeName: "other_thing", state: value({ name: "a" }) });
    expect(unknownType["diagnostics"]).toMatchObject([{ detail: expect.stringContaining('"other_thing"') as string }]);
    const wrong = await serve().call("ReadResource", {
      typeName: "test_thing",
      state: { msgpack: Buffer.from([0x01]) },
    });
    expect(wrong["diagnostics"]).toMatchObject([{ detail: expect.stringContaining("must be an object") as string }]);
  });

  test("calls functions, and says which argument was wrong, the first included", async () => {
    const functions: Provider["functions"] = new Map([
      [
        "shout",
        {
          schema: {
            name: "shout",
            summary: "",
            doc: "",
            parameters: [{ name: "text", type: "string", doc: "" }],
            returns: "string",
          },
          call: ([text]) => {
            if (text === "") throw new FunctionError(0, "is empty");
            return `${text as string}!`;
          },
        },
      ],
    ]);
    const { call } = serve({}, functions);
    const text = (content: string): Message => ({ msgpack: encodeValue("string", content) });
    const { result } = await call("CallFunction", { name: "shout", arguments: [text("hey")] });
    expect(decodeValue("string", (result as { msgpack: Buffer }).msgpack)).toBe("hey!");
    expect(await call("CallFunction", { name: "shout", arguments: [text("")] })).toEqual({
      error: { text: "is empty", argument: 0 },
    });
    expect(await call("CallFunction", { name: "whisper", arguments: [] })).toMatchObject({
      error: { text: expect.stringContaining("whisper") as string },
    });
  });

  test("announces its capabilities", async () => {
    const { call } = serve();
    const metadata = await call("GetMetadata", {});
    expect(metadata).toMatchObject({
      capabilities: { planDestroy: true, schemaOptional: true },
      resources: [{ name: "test_thing" }],
    });
    const answer = await call("GetProviderSchema", {});
    expect(Object.keys(answer["resources"] as object)).toEqual(["test_thing"]);
    expect(await call("StopProvider", {})).toEqual({});
  });
});

test("createProviderLog() writes times with six digits: with three Terraform shows the line as raw text", () => {
  const lines: string[] = [];
  createProviderLog(
    (line) => lines.push(line),
    () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  ).warn({ a: 1 }, "careful\u009b2J");
  expect(lines).toEqual([
    '{"@level":"warn","@message":"careful\\u009b2J","@timestamp":"2026-01-02T03:04:05.006000Z","@module":"gateway","a":1}\n',
  ]);
});

test("the wire table can write every message that the service names", () => {
  for (const { requestSerialize, responseSerialize } of Object.values(providerService)) {
    expect(requestSerialize({})).toHaveLength(0);
    expect(responseSerialize({})).toHaveLength(0);
  }
  expect(decodeMessage("Empty", encodeMessage("Empty", {}))).toEqual({});
});
