/** Settings of a route that Terraform alone has in blocks: published, drifted, imported, and read from old states. */
import { rmSync } from "node:fs";

import { expect, test } from "vitest";

import { bundleConfig } from "../support/terraform.ts";
import { describeTerraform } from "../support/terraform-suite.ts";

const POLICY = 'jsonencode([{ allow = { and = [{ domain = { is = "example.com" } }] } }])';

interface State {
  resources: {
    instances: { schema_version: number; attributes: { route: Record<string, Record<string, unknown>> } }[];
  }[];
}

describeTerraform("settings of a route in blocks", (terraform) => {
  const { apply, planCode, slice } = terraform;

  const NESTED = `
route "rare" {
  from   = "https://rare.example.com"
  to     = ["https://10.0.0.4:8443", "https://10.0.0.5:8443"]
  policy = ${POLICY}
  routing {
    prefix_rewrite = "/base"
  }
  access {
    allowed_users = ["alice@example.com"]
  }
  headers {
    host_rewrite_header = "X-Host"
    set_request_headers_secret "X-Key" {
      secret_ref = "env:KEY"
    }
  }
  upstream {
    http2             = false
    tls_custom_ca_ref = "file:/etc/ca.pem"
    health_checks {
      tcp_health_check {}
    }
    outlier_detection {
      max_ejection_percent = 50
    }
  }
}
route "old" {
  from   = "https://old.example.com"
  policy = ${POLICY}
  routing {
    redirect {
      host_redirect = "rare.example.com"
    }
  }
  upstream {}
}`;
  const write = (text = NESTED): void => {
    const target = `file {\n  directory = "${terraform.workspace.path("slices")}"\n}`;
    terraform.workspace.write("main.tf", bundleConfig(`owner = "team"\n${target}\n${text}`));
  };
  const edit = (change: (route: Record<string, unknown>) => void): void => {
    const edited = structuredClone(slice()) as { routes: Record<string, Record<string, unknown>> };
    change(edited.routes["rare"]!);
    terraform.workspace.write("slices/team.json", JSON.stringify(edited));
  };

  test("are on the route itself in the slice, and a second plan is empty", async () => {
    write();
    await apply();
    expect(slice().routes["rare"]).toEqual({
      from: "https://rare.example.com",
      to: ["https://10.0.0.4:8443", "https://10.0.0.5:8443"],
      prefix_rewrite: "/base",
      policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
      allowed_users: ["alice@example.com"],
      host_rewrite_header: "X-Host",
      set_request_headers_secret: { "X-Key": { secret_ref: "env:KEY" } },
      http2: false,
      tls_custom_ca_ref: "file:/etc/ca.pem",
      health_checks: [{ tcp_health_check: {} }],
      outlier_detection: { max_ejection_percent: 50 },
    });
    expect(slice().routes["old"]).toMatchObject({ redirect: { host_redirect: "rare.example.com" } });
    expect(await planCode()).toBe(0);
  });

  test("that are changed, added or removed by hand are shown one by one, and repaired", async () => {
    write();
    await apply();
    edit((route) => {
      route["http2"] = true;
      route["idle_timeout"] = "1h";
      delete route["allowed_users"];
    });
    const { stdout } = await terraform.workspace.run("plan");
    expect(stdout).toMatch(/~ http2\s+= true -> false/);
    expect(stdout).toMatch(/- idle_timeout\s+= "1h" -> null/);
    expect(stdout).toMatch(/~ access \{\s+\+ allowed_users\s+= \[/);
    expect(stdout).not.toContain("tls_custom_ca_ref");
    await apply();
    expect(slice().routes["rare"]).toMatchObject({ http2: false, allowed_users: ["alice@example.com"] });
    expect(await planCode()).toBe(0);
  });

  test("are imported into their blocks, and the written configuration plans empty", async () => {
    write();
    await apply();
    rmSync(terraform.workspace.path("terraform.tfstate"));
    const head = bundleConfig("").split("\n\nresource")[0] ?? "";
    const id = terraform.workspace.path("slices/team.json");
    await terraform.generate(head, id);
    const written = terraform.workspace.read("taken.tf").replaceAll(/ +/g, " ");
    expect(written).toMatch(/upstream \{[^}]*http2 = false/);
    expect(written).toMatch(/headers \{[^}]*host_rewrite_header = "X-Host"/);
    await apply();
    expect(await planCode()).toBe(0);
  });

  test("a state from before a repeated block existed is read without a change", async () => {
    write();
    await apply();
    const state = JSON.parse(terraform.workspace.read("terraform.tfstate")) as State;
    const { upstream } = state.resources[0]!.instances[0]!.attributes.route["old"]!;
    delete (upstream as Record<string, unknown>)["health_checks"];
    terraform.workspace.write("terraform.tfstate", JSON.stringify(state));
    expect(await planCode()).toBe(0);
  });

  test("a state of the first schema, where they were flat, is read without a change", async () => {
    write(NESTED.replace("upstream {}", ""));
    await apply();
    const before = terraform.workspace.read("slices/team.json");
    const state = JSON.parse(terraform.workspace.read("terraform.tfstate")) as State;
    const [instance] = state.resources[0]!.instances;
    expect(instance!.schema_version).toBe(1);
    instance!.schema_version = 0;
    for (const route of Object.values(instance!.attributes.route)) {
      for (const name of ["routing", "access", "headers", "upstream"]) {
        Object.assign(route, route[name]);
        delete route[name];
      }
      // As the first schema had it: every setting there, blocks that are not there as empty lists and maps.
      for (const name of ["rewrite_response_headers", "health_checks"]) route[name] ??= [];
      route["set_request_headers_secret"] ??= {};
      for (const name of ["idle_timeout", "redirect"]) route[name] ??= null;
    }
    terraform.workspace.write("terraform.tfstate", JSON.stringify(state));
    const { code, stdout } = await terraform.workspace.run("plan", "-detailed-exitcode");
    expect(stdout).toContain("No changes");
    expect(code).toBe(0);
    await apply();
    expect(terraform.workspace.read("slices/team.json")).toBe(before);
  });
});
