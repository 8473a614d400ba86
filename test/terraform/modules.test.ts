/** examples/terraform/modules with the real Terraform: modules give routes, a root merges them. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { describeTerraform } from "../support/terraform-suite.ts";

const EXAMPLE = new URL("../../examples/terraform/modules", import.meta.url).pathname;

describeTerraform("modules that give routes", (terraform) => {
  const elsewhere = mkdtempSync(join(tmpdir(), "gw-modules-"));
  afterAll(() => {
    rmSync(elsewhere, { recursive: true });
  });

  const apps = {
    wiki: { from: "https://wiki.example.com", to: ["http://wiki.internal:8080"], groups: ["staff"] },
    status: { from: "https://status.example.com", to: ["http://status.internal:8080"], timeout: "5s" },
  };
  const start = async (change = (text: string): string => text): Promise<void> => {
    cpSync(EXAMPLE, terraform.workspace.directory, { recursive: true });
    terraform.workspace.write("main.tf", change(terraform.workspace.read("main.tf")));
    await terraform.workspace.succeed("init");
    set(apps);
  };
  const set = (value: Readonly<Record<string, object>>): void => {
    const variables = { directory: terraform.workspace.path("slices"), apps: value };
    terraform.workspace.write("terraform.tfvars.json", JSON.stringify(variables));
  };
  const routes = (): Readonly<Record<string, object>> => terraform.slice("platform").routes;

  test("are merged and published; a change shows as its field alone", async () => {
    await start();
    await terraform.apply();
    expect(routes()).toEqual({
      issues: {
        from: "https://issues.example.com",
        to: ["http://issues.internal:9000"],
        policy: [
          { allow: { and: [{ domain: { is: "example.com" } }] } },
          { deny: { and: [{ mcp_tool: { in: ["delete_issue"] } }] } },
        ],
        mcp: { server: {} },
      },
      search: {
        from: "https://search.example.com",
        to: ["http://search.internal:9000"],
        policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
        mcp: { server: {} },
      },
      status: {
        from: "https://status.example.com",
        to: ["http://status.internal:8080"],
        allow_any_authenticated_user: true,
        timeout: "5s",
        set_request_headers: { "X-Browser": '${gateway.request.headers["User-Agent"]}' },
      },
      wiki: {
        from: "https://wiki.example.com",
        to: ["http://wiki.internal:8080"],
        policy: [{ allow: { or: [{ groups: { has: "staff" } }] } }],
        set_request_headers: { "X-Browser": '${gateway.request.headers["User-Agent"]}' },
      },
    });
    expect(await terraform.planCode()).toBe(0);
    set({ ...apps, status: { ...apps.status, timeout: "9s" } });
    const changed = await terraform.workspace.succeed("plan");
    expect(changed).toMatch(
      /~ status = \{\s+~ timeout\s+= "5s" -> "9s"\s+# \(6 unchanged attributes hidden\)\s+\}\s+# \(3 unchanged attributes hidden\)/,
    );
    expect(changed).not.toMatch(/issues|search|wiki|internal/);
  });

  test("work from another folder, where they were published", async () => {
    cpSync(EXAMPLE, elsewhere, { recursive: true });
    await start((text) => {
      for (const module of ["web-apps", "mcp-servers"]) rmSync(terraform.workspace.path(module), { recursive: true });
      return text.replaceAll('source = "./', `source = "${elsewhere}/`);
    });
    expect(terraform.workspace.read("main.tf")).toContain(`source = "${elsewhere}/web-apps"`);
    await terraform.apply();
    expect(Object.keys(routes())).toEqual(["issues", "search", "status", "wiki"]);
    expect(await terraform.planCode()).toBe(0);
  });

  test("are refused with the place where a value of the caller is wrong, and when two have one name", async () => {
    await start();
    set({ ...apps, wiki: { ...apps.wiki, timeout: "soon" } });
    const wrong = await terraform.workspace.run("plan");
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('"timeout" is "soon", must be a duration');
    expect(wrong.stderr).toContain('At routes["wiki"].timeout');
    set({ ...apps, search: apps.wiki });
    expect((await terraform.workspace.run("plan")).stderr).toContain("have one name");
  });
});
