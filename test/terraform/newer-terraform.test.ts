/**
 * Requests of Terraform 1.12 and later to a provider, over its gRPC service: identity of resources, imports by it. And
 * `moved` from another provider's address, which the installed Terraform supports.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { blockType } from "../../runtime/terraform/schema/schema-model.ts";
import {
  BUNDLE_TYPE,
  BUNDLE_VERSION,
  bundleSchema,
  OPENTOFU_ADDRESS,
  PROVIDER_ADDRESS,
} from "../../runtime/terraform/schema/schema.ts";
import { upgradeBundleState } from "../../runtime/terraform/resource/state.ts";
import { UNKNOWN, type Value, type ValueMap, type ValueType } from "../../runtime/terraform/protocol/value.ts";
import type { Message } from "../../runtime/terraform/protocol/wire.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { connectPlugin, dynamic, type PluginClient, valueOf } from "../support/plugin-client.ts";
import { bundleConfig, createWorkspace, type InProcessProvider, serveInProcess } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const type = blockType(bundleSchema);
const typeName = BUNDLE_TYPE;
/** As GetResourceIdentitySchemas says it. */
const identityType: ValueType = ["object", { directory: "string", owner: "string", url: "string" }];
const policy = JSON.stringify([{ allow: { and: [{ authenticated_user: true }] } }]);

let directory: string;
let provider: InProcessProvider;
let plugin: PluginClient;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "gw-identity-"));
  provider = await serveInProcess();
  plugin = connectPlugin(provider.socketPath);
});
afterAll(() => {
  plugin.close();
  provider.close();
  rmSync(directory, { recursive: true });
});

/** A whole configuration of one route, with the empty lists and maps that Terraform has for blocks that are not there. */
function bundle(place: ValueMap): ValueMap {
  const route = { from: "https://a.example.com", to: ["http://10.0.0.1"], policy };
  const whole = upgradeBundleState({ owner: "team", route: { a: route } }, BUNDLE_VERSION) as ValueMap;
  return valueOf(type, dynamic(type, { ...whole, ...place })) as ValueMap;
}

const identityOf = (answer: Message): Value => {
  const { data } = (answer["identity"] ?? {}) as { data?: unknown };
  return data === undefined ? null : valueOf(identityType, data);
};
const plan = (prior: Value, config: Value): Promise<Message> =>
  plugin.call("PlanResourceChange", {
    typeName,
    prior: dynamic(type, prior),
    proposed: dynamic(type, config),
    config: dynamic(type, config),
  });
const apply = async (prior: Value, config: Value): Promise<Message> => {
  const { planned } = await plan(prior, config);
  return plugin.call("ApplyResourceChange", {
    typeName,
    prior: dynamic(type, prior),
    planned,
    config: dynamic(type, config),
  });
};
const importBy = (identity: ValueMap): Promise<Message> =>
  plugin.call("ImportResourceState", { typeName, identity: { data: dynamic(identityType, identity) } });
const failure = ({ diagnostics }: Message): string => (diagnostics as { detail: string }[])[0]?.detail ?? "";

describe("the identity of a bundle", () => {
  test("is its owner and its place, in a schema of its own", async () => {
    const { schemas } = await plugin.call("GetResourceIdentitySchemas", {});
    const schema = (schemas as Record<string, { attributes: Message[] }>)[BUNDLE_TYPE];
    expect(schema?.attributes.map(({ name, type: of, required }) => [name, String(of), required === true])).toEqual([
      ["owner", '"string"', true],
      ["directory", '"string"', false],
      ["url", '"string"', false],
    ]);
  });

  test("is returned by plan, apply and read, follows a new target, and is omitted while unknown or without a target", async () => {
    const first = join(directory, "first");
    const at = (place: string): ValueMap => ({ owner: "team", directory: place, url: null });
    const config = bundle({ file: { directory: first, mode: null } });
    expect(identityOf(await plan(null, config))).toEqual(at(first));
    const applied = await apply(null, config);
    expect(identityOf(applied)).toEqual(at(first));
    const state = valueOf(type, applied["state"]);
    const read = await plugin.call("ReadResource", {
      typeName,
      state: dynamic(type, state),
      identity: applied["identity"],
    });
    expect(identityOf(read)).toEqual(at(first));

    const moved = bundle({ file: { directory: join(directory, "second"), mode: null } });
    expect(identityOf(await plan(state, moved))).toEqual(at(join(directory, "second")));
    const unknown = bundle({ http: { url: UNKNOWN, token_ref: null } });
    expect(identityOf(await plan(state, unknown))).toBeNull();
    expect(identityOf(await plan(null, bundle({})))).toBeNull();
    const gateway = bundle({ http: { url: "http://127.0.0.1:9901//", token_ref: null } });
    expect(identityOf(await plan(null, gateway))).toEqual({
      owner: "team",
      directory: null,
      url: "http://127.0.0.1:9901",
    });
    const gone = await plugin.call("PlanResourceChange", {
      typeName,
      prior: dynamic(type, state),
      proposed: dynamic(type, null),
    });
    expect(identityOf(gone)).toBeNull();
  });

  test("is upgraded as it is: there has been one schema", async () => {
    const json = Buffer.from(JSON.stringify({ owner: "team", directory: "/etc/slices", gone: 1 }));
    const answer = await plugin.call("UpgradeResourceIdentity", { typeName, version: 0, identity: { json } });
    expect(identityOf(answer)).toEqual({ owner: "team", directory: "/etc/slices", url: null });
  });
});

describe("an import by identity", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      yaml: "routes: []\n",
      boot: { owners: { team: { allowed_from: ["*.example.com"] } } },
    });
    process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
  });
  afterAll(async () => {
    delete process.env["GATEWAY_ADMIN_TOKEN"];
    await gateway.close();
  });

  test.each(["directory", "url"])("takes over what is published there: %s", async (kind) => {
    const place = kind === "url" ? gateway.adminOrigin : join(directory, "imported");
    const config = bundle(
      kind === "url" ? { http: { url: place, token_ref: null } } : { file: { directory: place, mode: null } },
    );
    expect(failure(await apply(null, config))).toBe("");
    const answer = await importBy({ owner: "team", directory: null, url: null, [kind]: place });
    expect(answer["diagnostics"]).toEqual([]);
    const [imported] = answer["imported"] as Message[];
    expect(imported?.["typeName"]).toBe(BUNDLE_TYPE);
    expect(identityOf(imported!)).toEqual({ owner: "team", directory: null, url: null, [kind]: place });
    const state = valueOf(type, imported?.["state"]);
    expect(valueOf(type, (await plan(state, config))["planned"])).toEqual(state);
  });

  test.each<[string, ValueMap, string]>([
    ["nobody", { owner: "nobody", directory: "/nowhere", url: null }, "there is no such file"],
    ["two places", { owner: "team", directory: "/x", url: "http://127.0.0.1:1" }, 'either "directory" or "url"'],
    ["no place", { owner: "team", directory: null, url: null }, 'either "directory" or "url"'],
    ["an address of another kind", { owner: "team", directory: null, url: "file:///etc" }, "http:// or https://"],
    [
      "a password",
      { owner: "team", directory: null, url: "http://me:hunter2@127.0.0.1:1" },
      'Cannot import "team": "url" must not hold a password',
    ],
    ["a query", { owner: "team", directory: null, url: "http://127.0.0.1:1/?x=" }, "must have no query"],
    ["a path as owner", { owner: "../team", directory: "/x", url: null }, '"owner" must be'],
  ])("is refused: %s", async (_name, identity, text) => {
    const answer = await importBy(identity);
    expect(answer["imported"]).toEqual([]);
    expect(failure(answer)).toContain(text);
    expect(failure(answer)).not.toContain("hunter2");
  });

  test.each([
    ["/config/slices/team", "must not hold a password"],
    ["/elsewhere", "the id must be"],
  ])("refuses an id with a password, and does not repeat it: %s", async (path, text) => {
    const id = `http://me:hunter2@127.0.0.1:1${path}`;
    const answer = await plugin.call("ImportResourceState", { typeName, id });
    expect(failure(answer)).toContain(text);
    expect(failure(answer)).not.toContain("hunter2");
  });
});

describe("MoveResourceState", () => {
  const move = (source: object, state: unknown): Promise<Message> =>
    plugin.call("MoveResourceState", {
      sourceProvider: "registry.example.com/acme/gateway",
      sourceType: BUNDLE_TYPE,
      sourceVersion: 1,
      sourceState: { json: Buffer.from(JSON.stringify(state)) },
      typeName,
      private: Buffer.from("p"),
      ...source,
    });

  test("converts states of this provider under another address, also of an older schema", async () => {
    const state = {
      owner: "team",
      route: { a: { from: "https://a.example.com", http2: true } },
      file: { directory: "d" },
    };
    const answer = await move({ sourceVersion: 0 }, state);
    expect(valueOf(type, answer["state"])).toMatchObject({
      owner: "team",
      route: { a: { from: "https://a.example.com", upstream: { http2: true } } },
    });
    expect(identityOf(answer)).toEqual({ owner: "team", directory: "d", url: null });
    expect(answer["private"]).toEqual(Buffer.from("p"));
  });

  test.each<[string, object, unknown, string]>([
    ["of another type", { sourceType: "terraform_data" }, { owner: "x", route: {} }, "can be moved; take over"],
    [
      "of another provider",
      { sourceProvider: "registry.terraform.io/acme/other" },
      { owner: "x", route: {} },
      "can be moved",
    ],
    ["of a newer schema", { sourceVersion: 99 }, { owner: "x", route: {} }, "has version 99"],
    ["that is no bundle", {}, { owner: 1 }, 'no "owner"'],
    ["that is nothing", {}, null, 'no "owner"'],
  ])("refuses a state %s", async (_name, source, state, text) => {
    const answer = await move(source, state);
    expect(answer["state"]).toBeUndefined();
    expect(failure(answer)).toContain(text);
  });
});

describeTerraform("moved from another provider's address", () => {
  test("keeps the published slice, and plans nothing", async () => {
    // OpenTofu takes states of registry.terraform.io for its own registry.
    const other = "registry.example.com/acme/gateway";
    const both = await serveInProcess([PROVIDER_ADDRESS, OPENTOFU_ADDRESS, other]);
    const workspace = createWorkspace(both.env);
    try {
      mkdirSync(workspace.path("slices"));
      const body = `owner = "team"\nfile {\n directory = "${workspace.path("slices")}"\n }
        route "a" {\n from = "https://a.example.com"\n to = ["http://a"]\n policy = jsonencode([])\n }`;
      workspace.write("main.tf", bundleConfig(body).replace('"main"', '"old"'));
      await workspace.succeed("apply", "-auto-approve");
      const before = workspace.read("slices/team.json");
      const state = workspace.read("terraform.tfstate");
      const moved = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS].reduce((text, each) => text.replaceAll(each, other), state);
      expect(moved).not.toBe(state);
      writeFileSync(workspace.path("terraform.tfstate"), moved);
      workspace.write(
        "main.tf",
        bundleConfig(body, "moved {\n from = gateway_bundle.old\n to = gateway_bundle.main\n}\n"),
      );
      const planned = await workspace.succeed("plan");
      expect(planned).toContain("gateway_bundle.old has moved to gateway_bundle.main");
      expect(planned).toContain("Plan: 0 to add, 0 to change, 0 to destroy.");
      await workspace.succeed("apply", "-auto-approve");
      expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
      expect(workspace.read("terraform.tfstate")).not.toContain(other);
      expect(workspace.read("slices/team.json")).toBe(before);
    } finally {
      workspace.close();
      both.close();
    }
  });
});
