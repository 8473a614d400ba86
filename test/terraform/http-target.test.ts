/** Publishing to a running gateway with the real Terraform: apply means live, and the state tells the truth. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { PRESENCE_TAG, presenceKey } from "../../runtime/bundle/presence.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import type { Store } from "../../runtime/store/store.ts";
import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { createAdminClient, type AdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startForwarder, type HeldForwarder } from "../support/held-forwarder.ts";
import { startUpstream, visit, type MarkedUpstream } from "../support/marked-upstream.ts";
import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const OWNERS = { team: { allowed_from: ["*.example.com"] }, other: { allowed_from: ["*.example.com"] } };

describeTerraform("gateway_bundle published over http", (terraform) => {
  let gateway: TestGateway;
  let admin: AdminClient;
  let upstream: MarkedUpstream;
  let forwarder: HeldForwarder;

  beforeAll(async () => {
    upstream = await startUpstream();
    // As a pipeline has it: the provider of these tests runs in this process.
    process.env["GATEWAY_ADMIN_TOKEN"] = "admin-token-of-the-tests";
  });
  afterAll(async () => {
    delete process.env["GATEWAY_ADMIN_TOKEN"];
    await upstream.close();
  });
  beforeEach(async () => {
    gateway = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS } });
    admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    forwarder = await startForwarder(gateway.adminOrigin);
  });
  afterEach(async () => {
    await forwarder.close();
    await gateway.close();
  });

  interface Options {
    readonly url?: string;
    readonly http?: string;
    readonly mark?: string;
    readonly from?: string;
    readonly to?: string;
    readonly owner?: string;
    readonly rest?: string;
  }

  const config = ({
    url = gateway.adminOrigin,
    http = "",
    mark = "1",
    from,
    to = upstream.origin,
    owner = "team",
    rest,
  }: Options = {}): string =>
    bundleConfig(
      `  owner = "${owner}"
  http {
    url = "${url}"
    ${http}
  }
  route "app" {
    from   = "${from ?? "http://app.example.com"}"
    to     = ["${to}"]
    policy = jsonencode([{ allow = { or = [{ accept = true }] } }])
    set_response_headers = { "X-Mark" = "${mark}" }
  }
`,
      rest,
    );
  const write = (options?: Options): void => terraform.workspace.write("main.tf", config(options));
  const { apply, planCode } = terraform;
  const refused = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await terraform.workspace.run(...args);
    expect(code).toBe(1);
    // Terraform draws a frame and breaks lines.
    return `${stdout}${stderr}`.replaceAll(/[\s│]+/g, " ");
  };
  const mark = async (): Promise<string | undefined> => (await visit(gateway.origin, "app.example.com")).mark;
  const published = async (owner = "team"): Promise<string | undefined> => {
    const answer = await admin.get(`/config/slices/${owner}`);
    return answer.status === 200 ? answer.text : undefined;
  };

  test("when apply ends the change is live, and a second plan is empty", async () => {
    write();
    await apply();
    expect(await mark()).toBe("1");
    expect(await planCode()).toBe(0);
    write({ mark: "2" });
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout).toMatch(/~ "X-Mark"\s+= "1" -> "2"/);
    // Planning changes nothing.
    expect(await mark()).toBe("1");
    await apply();
    expect(await mark()).toBe("2");
    expect(await planCode()).toBe(0);
  });

  test("the token gets into no state, plan or output", async () => {
    write();
    const planned = await terraform.workspace.succeed("plan", "-out=plan");
    const applied = await terraform.workspace.succeed("apply", "plan");
    const shown = await terraform.workspace.succeed("show", "-json", "plan");
    for (const text of [planned, applied, shown, terraform.workspace.read("terraform.tfstate"), gateway.log()]) {
      expect(text).not.toContain("admin-token-of-the-tests");
    }
  });

  test("drift is shown per route and field, and repaired", async () => {
    write();
    await apply();
    const drifted = JSON.parse((await published()) ?? "") as { routes: Record<string, Record<string, unknown>> };
    drifted.routes["app"]!["timeout"] = "99s";
    drifted.routes["extra"] = { ...drifted.routes["app"], from: "http://extra.example.com" };
    expect((await admin.publish("team", JSON.stringify(drifted), "*")).status).toBe(200);
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout).toMatch(/- timeout\s+= "99s"/);
    expect(stdout).toContain('- route "extra"');
    await apply();
    expect((await visit(gateway.origin, "extra.example.com")).status).not.toBe(200);
    expect(await planCode()).toBe(0);
  });

  test("a rollback is shown as drift, and the next apply brings the program back", async () => {
    write();
    await apply();
    write({ mark: "2" });
    await apply();
    expect((await admin.ask("POST", "/config/rollback", {}, '{"owner":"team"}')).status).toBe(200);
    expect(await mark()).toBe("1");
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout).toMatch(/~ "X-Mark"\s+= "1" -> "2"/);
    await apply();
    expect(await mark()).toBe("2");
  });

  test("a removed slice is planned as a creation", async () => {
    write();
    await apply();
    await admin.remove("team");
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout).toContain("will be created");
    await apply();
    expect(await mark()).toBe("1");
  });

  test("destroy removes the owner's slice and no other", async () => {
    write();
    await apply();
    await admin.publish("other", '{"version":1,"owner":"other","routes":{}}');
    await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(await published()).toBeUndefined();
    expect(await published("other")).toBeDefined();
    expect(await mark()).toBeUndefined();
  });

  test("a resource that gets another name without a moved block keeps its slice, whichever part of the apply comes first", async () => {
    write();
    await apply();
    for (const name of ["second", "third"]) {
      terraform.workspace.write("main.tf", config().replace('"gateway_bundle" "main"', `"gateway_bundle" "${name}"`));
      // In the order in which Terraform happens to come to them.
      await terraform.workspace.succeed("apply", "-auto-approve");
      expect(await mark()).toBe("1");
      expect(await planCode()).toBe(0);
    }
    await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(await published()).toBeUndefined();
  });

  test("of two states that publish the same content, destroying the first one removes nothing", async () => {
    write();
    await apply();
    const first = terraform.workspace.path("terraform.tfstate");
    const state = readFileSync(first, "utf8");
    rmSync(first);
    await apply();
    const second = readFileSync(first, "utf8");
    writeFileSync(first, state);
    const said = await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(said).toContain("Slice stays published");
    expect(await mark()).toBe("1");
    writeFileSync(first, second);
    await terraform.workspace.succeed("destroy", "-auto-approve");
    expect(await published()).toBeUndefined();
  });

  test("a change made after the plan is not overwritten, and the operator gets instructions", async () => {
    write();
    await apply();
    write({ mark: "2" });
    await terraform.workspace.succeed("plan", "-out=plan");
    const foreign = ((await published()) ?? "").replace('"X-Mark": "1"', '"X-Mark": "foreign"');
    expect((await admin.publish("team", foreign, "*")).status).toBe(200);
    const said = await refused("apply", "plan");
    expect(said).toContain("was changed outside Terraform after this plan was made; make a new plan and review it");
    expect(await mark()).toBe("foreign");
    expect((await terraform.workspace.run("plan")).stdout).toMatch(/"foreign" -> "2"/);
  });

  test("an existing slice is not taken over by a creation, but imported", async () => {
    await admin.publish("team", '{"version":1,"owner":"team","routes":{}}');
    write();
    const said = await refused("apply", "-auto-approve");
    const address = `${gateway.adminOrigin}/config/slices/team`;
    expect(said).toContain(`take it over with: terraform import <address> ${address}`);
    await terraform.workspace.succeed("import", "gateway_bundle.main", address);
    await apply();
    expect(await mark()).toBe("1");
    expect(await planCode()).toBe(0);
  });

  test("import writes a configuration that plans empty", async () => {
    write();
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const head = config().split("\n\nresource")[0] ?? "";
    const id = `${gateway.adminOrigin}/config/slices/team`;
    const planned = await terraform.generate(head, id);
    expect(planned).toContain("1 to import, 0 to add, 0 to change, 0 to destroy");
    await terraform.workspace.succeed("apply", "-auto-approve");
    expect(await planCode()).toBe(0);
  });

  test("a gateway that refuses is quoted at the setting, and nothing changes", async () => {
    write();
    await apply();
    write({ mark: "2", from: "http://app.example.org" });
    const said = await refused("plan");
    expect(said).toContain("The gateway would refuse the bundle");
    expect(said).toContain('which owner "team" may not serve');
    expect(said).toContain('At route["app"].from');
    expect(await mark()).toBe("1");
    write();
    expect(await planCode()).toBe(0);
  });

  test("the owner of the gateway's own file is refused with the wish for another name, and state says nothing", async () => {
    await gateway.close();
    gateway = await startGateway({ yaml: "routes: []\n" });
    const url = gateway.adminOrigin;
    write({ url, owner: "default" });
    const said = await refused("apply", "-auto-approve");
    expect(said).toContain('"owner" is "default", whose is what a gateway\'s own file says');
    // The gateway responds the same to a publisher without the provider.
    admin = createAdminClient(url, gateway.adminToken);
    const direct = await admin.publish("default", '{"version":1,"owner":"default","routes":{}}');
    expect(direct.status).toBe(422);
    expect(direct.text).toMatch(/the owner of what \S+ says, must be another name such as \\"main\\"/);
    expect((await terraform.workspace.run("state", "list")).stdout).toBe("");
    // The name that constructs take when none is given.
    write({ url, owner: "main" });
    await apply();
    expect(await planCode()).toBe(0);
    expect(await mark()).toBe("1");
  });

  test("a host that another owner serves is refused by the plan, at its place; warnings of the gateway are shown", async () => {
    const other = { from: "http://svc.example.com", to: upstream.origin, policy: [] };
    await admin.publish("other", JSON.stringify({ version: 1, owner: "other", routes: { svc: other } }));
    write({ from: "http://svc.example.com" });
    const said = await refused("plan");
    expect(said).toContain("leads to the same requests as");
    expect(said).toContain('At route["app"].from');
    // The gateway alone knows who serves that name.
    write({ to: "http://svc.example.com" });
    const applied = (await apply()).replaceAll(/[\s│]+/g, " ");
    expect(applied).toContain("Warning from the gateway");
    expect(applied).toContain('"routes.app.to[0]" is "http://svc.example.com", which a route serves');
    expect(applied).toContain('At route["app"].to[0]');
    expect(await published("team")).toBeDefined();
  });

  test("a gateway that cannot be reached is said, and the state stays", async () => {
    write({ url: "http://127.0.0.1:1" });
    expect(await terraform.workspace.succeed("plan")).toContain("Not validated by the gateway");
    const said = await refused("apply", "-auto-approve");
    expect(said).toContain('Cannot reach the gateway at "http://127.0.0.1:1": nothing listens there');
    write();
    await apply();
    const state = terraform.workspace.read("terraform.tfstate");
    await gateway.close();
    expect(await refused("plan")).toContain("nothing listens there");
    expect(await refused("apply", "-auto-approve")).toContain("nothing listens there");
    expect(terraform.workspace.read("terraform.tfstate")).toBe(state);
  });

  test("a URL that is not a gateway's is reported", async () => {
    write({ url: upstream.origin });
    expect(await refused("apply", "-auto-approve")).toContain("is this the admin address of a gateway?");
  });

  describe("the token", () => {
    test("comes from a reference, which is all that the state has", async () => {
      terraform.workspace.write("token", "admin-token-of-the-tests\n");
      write({ http: `token_ref = "file:${terraform.workspace.path("token")}"` });
      delete process.env["GATEWAY_ADMIN_TOKEN"];
      try {
        await apply();
        expect(await planCode()).toBe(0);
      } finally {
        process.env["GATEWAY_ADMIN_TOKEN"] = "admin-token-of-the-tests";
      }
      expect(terraform.workspace.read("terraform.tfstate")).not.toContain("admin-token-of-the-tests");
    });

    test("comes from the provider's configuration, as an ephemeral value", async () => {
      write({
        rest: 'variable "token" {\n  type = string\n  ephemeral = true\n}\nprovider "gateway" {\n  admin_token = var.token\n}\n',
      });
      delete process.env["GATEWAY_ADMIN_TOKEN"];
      try {
        const variable = "-var=token=admin-token-of-the-tests";
        await terraform.workspace.succeed("apply", "-auto-approve", variable);
        expect((await terraform.workspace.run("plan", "-detailed-exitcode", variable)).code).toBe(0);
        await terraform.workspace.succeed("destroy", "-auto-approve", variable);
      } finally {
        process.env["GATEWAY_ADMIN_TOKEN"] = "admin-token-of-the-tests";
      }
      expect(await published()).toBeUndefined();
      expect(terraform.workspace.read("terraform.tfstate")).not.toContain("admin-token-of-the-tests");
    });

    test.each([
      ["that is missing", 'token_ref = "env:NOT_SET"', "the environment variable is not set where Terraform runs"],
      ["that is wrong", 'token_ref = "env:PATH"', "it does not accept the token"],
    ])("%s is said", async (_name, http, message) => {
      write({ http });
      expect(await refused("apply", "-auto-approve")).toContain(message);
      expect(await published()).toBeUndefined();
    });
  });

  test.each([
    ["an address that is none", { url: "gateway.internal:9901" }, '"url" must be an address such as'],
    ["a password in the address", { url: "https://user:hunter2@gateway.internal" }, '"url" must not hold a password'],
    ["a token in place of a reference", { http: 'token_ref = "s3cret"' }, '"token_ref" must be "env:NAME"'],
    ["two targets", { http: '}\nfile {\n directory = "/tmp/x"' }, 'to "http" or to "file", not to both'],
  ])("plan refuses %s", async (_name, options, message) => {
    write(options);
    const said = await refused("plan");
    expect(said).toContain(message);
    expect(said).not.toContain("hunter2");
  });

  test("plan warns of a token that crosses the network in clear text", async () => {
    write({ url: "http://gateway.internal:9901" });
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout.replaceAll(/[\s│]+/g, " ")).toContain("the admin token crosses the network in clear text");
  });

  test("another name of the same gateway moves nothing", async () => {
    write();
    await apply();
    write({ url: gateway.adminOrigin.replace("127.0.0.1", "localhost"), mark: "2" });
    await apply();
    expect(await mark()).toBe("2");
    expect(await planCode()).toBe(0);
  });

  test("a slice moves from a directory to a gateway, and back", async () => {
    const inFile = config().replace(
      /http \{[^}]*\}/,
      `file {\n    directory = "${terraform.workspace.path("slices")}"\n  }`,
    );
    terraform.workspace.write("main.tf", inFile);
    await apply();
    write();
    await apply();
    expect(await mark()).toBe("1");
    expect(() => terraform.workspace.read("slices/team.json")).toThrow("ENOENT");
    terraform.workspace.write("main.tf", inFile);
    await apply();
    expect(await published()).toBeUndefined();
    expect(terraform.workspace.read("slices/team.json")).toContain("app.example.com");
  });

  describe("a process of the gateway that lags behind", () => {
    let store: Store;
    beforeEach(async () => {
      await gateway.close();
      const storageUrl = `sqlite:${terraform.workspace.path("gateway.db")}`;
      gateway = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS, storage_url: storageUrl } });
      admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
      store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
    });
    afterEach(() => store.close());

    /** Shows life as another replica does, which could not load what is published. */
    const lag = async (): Promise<void> => {
      const refused = { generation: 1_000, problems: ["TEAM_SECRET is not set there"] };
      const row = { id: "replica-2", digest: "", published: 0, seen: 0, refused };
      await store.put(presenceKey("replica-2"), row, { tags: [PRESENCE_TAG], expiresAt: 4_000_000_000 });
    };
    const recover = (): Promise<boolean> => store.delete(presenceKey("replica-2"));

    test("fails a first apply, names the process, and the next apply continues", async () => {
      await lag();
      write();
      const said = await refused("apply", "-auto-approve");
      expect(said).toContain("Not live everywhere");
      expect(said).toContain("replica-2 is at generation 0 and refused 1000: TEAM_SECRET is not set there");
      expect(said).toContain("Applying again does not publish it twice");
      // It is published, and serves where it can.
      expect(await mark()).toBe("1");
      await recover();
      await apply();
      expect((await admin.get("/config/slices")).body["generation"]).toBe(1);
      expect(await planCode()).toBe(0);
    });

    test("fails a later apply, and the state has the published content", async () => {
      write();
      await apply();
      await lag();
      write({ mark: "2" });
      expect(await refused("apply", "-auto-approve")).toContain("Not live everywhere");
      expect(await mark()).toBe("2");
      const { code, stdout } = await terraform.workspace.run("plan", "-detailed-exitcode");
      expect(code).toBe(0);
      expect(stdout).toContain("Not live everywhere");
      await recover();
      expect((await terraform.workspace.run("plan", "-detailed-exitcode")).stdout).not.toContain("Not live everywhere");
    });
  });

  describe("an apply that ends in the middle", () => {
    let mirrorRoot: string;
    let cliConfigFile: string;
    beforeAll(async () => {
      mirrorRoot = mkdtempSync(join(tmpdir(), "gw-mirror-"));
      ({ cliConfigFile } = await writeDevMirror(mirrorRoot));
    });
    afterAll(() => rmSync(mirrorRoot, { recursive: true, force: true }));
    beforeEach(async () => {
      // A provider of its own process, which ends when Terraform does.
      terraform.renew({
        TF_CLI_CONFIG_FILE: cliConfigFile,
        GATEWAY_ADMIN_TOKEN: "admin-token-of-the-tests",
      });
      write({ url: forwarder.origin });
      await terraform.workspace.succeed("init");
    });

    /** Starts an apply, ends it by the signal while it is held, and waits for its end. */
    async function interrupted(where: "before" | "after", signal: NodeJS.Signals): Promise<number | null> {
      const held = forwarder.hold(where);
      const child = terraform.workspace.start("apply", "-auto-approve", "-no-color");
      const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
      let said = "";
      child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await held;
      child.kill(signal);
      // An interrupt must be noticed before the test continues; a kill needs no notice.
      if (signal === "SIGINT") await expect.poll(() => said).toContain("Interrupt received");
      else await ended;
      forwarder.release();
      return ended;
    }

    test.each(["before", "after"] as const)(
      "Ctrl-C %s the gateway has it: the publish is finished and known",
      async (where) => {
        await interrupted(where, "SIGINT");
        expect(await mark()).toBe("1");
        expect(terraform.workspace.read("terraform.tfstate")).toContain('"sha256"');
        expect(await planCode()).toBe(0);
      },
    );

    test("kill -9 before the gateway has it: nothing is live, and the next apply creates it", async () => {
      await interrupted("before", "SIGKILL");
      expect(await published()).toBeUndefined();
      expect(await planCode()).toBe(2);
      await apply();
      expect(await mark()).toBe("1");
      expect(await planCode()).toBe(0);
    });

    test("kill -9 of the first apply after the gateway has it: the next one finds its own content", async () => {
      await interrupted("after", "SIGKILL");
      expect(await mark()).toBe("1");
      await apply();
      expect(await planCode()).toBe(0);
    });

    test("kill -9 of a later apply after the gateway has it: the next plan sees the active content", async () => {
      await apply();
      write({ url: forwarder.origin, mark: "2" });
      await interrupted("after", "SIGKILL");
      expect(await mark()).toBe("2");
      expect(await planCode()).toBe(0);
      write({ url: forwarder.origin, mark: "3" });
      await apply();
      expect(await mark()).toBe("3");
    });
  });
});
