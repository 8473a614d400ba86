/** Requests that real programs sent (test/real/terraform/recorded.test.ts records them), and requests of the future. */
import { Client, credentials, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { providerService } from "../../runtime/terraform/protocol/service.ts";
import type { Message } from "../../runtime/terraform/protocol/wire.ts";
import { connectPlugin, type PluginClient } from "../support/plugin-client.ts";
import { knownPart, readRecording, recordings } from "../support/recorded-requests.ts";
import { type InProcessProvider, serveInProcess } from "../support/terraform.ts";

let provider: InProcessProvider;
let plugin: PluginClient;
beforeAll(async () => {
  provider = await serveInProcess();
  plugin = connectPlugin(provider.socketPath);
  process.env["GATEWAY_ADMIN_TOKEN"] = "token";
});
afterAll(() => {
  delete process.env["GATEWAY_ADMIN_TOKEN"];
  plugin.close();
  provider.close();
});

/** Only these meet what is not there: a gateway, a directory. */
const FAILING = ["ImportResourceState", "InvokeAction", "ListResource", "OpenEphemeralResource", "ReadDataSource"];

const detailsOf = (answers: readonly Message[]): readonly string[] =>
  answers
    .flatMap((answer) => ((answer["completed"] ?? answer) as Message)["diagnostics"] ?? [])
    .filter((each) => (each as { severity: number }).severity === 1)
    .map((each) => (each as { detail: string }).detail);

describe.each(recordings())("the requests of %s", (name) => {
  const all = [...readRecording(name)];

  test("have no part that the provider does not know", () => {
    for (const [method, bytes] of all) expect(knownPart(method, bytes).equals(bytes), method).toBe(true);
  });

  // An apply would write where the recorded one has written.
  test.each(all.filter(([method]) => method !== "ApplyResourceChange"))("are answered: %s", async (method, bytes) => {
    const { requestDeserialize, responseStream } = providerService[method]!;
    const request = requestDeserialize(bytes) as Message;
    const answers = responseStream ? await plugin.stream(method, request) : [await plugin.call(method, request)];
    const details = detailsOf(answers);
    expect(details.length).toBe(FAILING.includes(method) ? 1 : 0);
    for (const detail of details) expect(detail).toMatch(/^Cannot (?:import|reach|list)/);
  });
});

test("newer programs call more methods than Terraform 1.11.4", () => {
  const first = readRecording("terraform-1.11.4");
  const added = (name: string): string[] => [...readRecording(name).keys()].filter((method) => !first.has(method));
  const actions = ["InvokeAction", "PlanAction", "ValidateActionConfig"];
  const lists = ["ListResource", "ValidateListResourceConfig"];
  const identities = ["GetResourceIdentitySchemas", "ImportResourceState"];
  expect(added("opentofu-1.12.6")).toEqual(identities);
  expect(added("terraform-1.16.0")).toEqual([...identities, ...actions, ...lists].toSorted());
});

describe("a program of the future", () => {
  const ask = (method: string, bytes: Buffer): Promise<{ readonly code?: number; readonly answer?: Buffer }> =>
    new Promise((resolve) => {
      const client = new Client(`unix:${provider.socketPath}`, credentials.createInsecure());
      const same = (each: Buffer): Buffer => each;
      client.makeUnaryRequest(`/tfplugin6.Provider/${method}`, same, same, bytes, (error, answer) => {
        client.close();
        resolve({ ...(error && { code: error.code }), ...(answer && { answer }) });
      });
    });

  test.each(["GenerateResourceConfig", "ValidateStateStoreConfig", "GetStates", "NotInventedYet"])(
    "learns that a method is not there: %s",
    async (method) => {
      expect(await ask(method, Buffer.alloc(0))).toEqual({ code: status.UNIMPLEMENTED });
    },
  );

  test("may send more than the provider knows", async () => {
    const bytes = readRecording("terraform-1.16.0").get("PlanAction")!;
    const answer = await ask("PlanAction", bytes);
    // Field 99, a text.
    expect(await ask("PlanAction", Buffer.concat([bytes, Buffer.from([0x9a, 0x06, 1, 0x78])]))).toEqual(answer);
    expect(answer.answer?.toString()).toContain("Restores the slice of owner");
  });
});
