/**
 * `gateform/cdktn`: the constructs' tests again, with `cdktn` instead of `cdktf` as in the build; and a comparison of both
 * frameworks for one program. The built entry point is tested in test/package/.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { App } from "cdktf";
import * as cdktn from "cdktn";
import { describe, expect, test, vi } from "vitest";

import { buildDemo } from "../../examples/demo/gateway.ts";

vi.mock("cdktf", () => import("cdktn"));

describe("cdktn", async () => {
  test("is the framework of these tests", async () => {
    const framework = await import("../../cdktf/framework.ts");
    expect(App).toBe(cdktn.App);
    expect(framework.Lazy).toBe(cdktn.Lazy);
    const cdktf = await vi.importActual<typeof import("cdktf")>("cdktf");
    expect(framework.Lazy).not.toBe(cdktf.Lazy);
  });

  test("synthesizes the demo to the same bytes of gateway.bundle.json and the same resource as cdktf", async () => {
    const build = (app: typeof buildDemo): readonly [string, unknown] => {
      const outdir = mkdtempSync(join(tmpdir(), "gateform-cdktn-"));
      try {
        const options = { origin: "http://localhost:1", mcpServer: "http://a:1", webApp: "http://b:1" };
        app({ ...options, directory: "/slices", outdir }).synth();
        const read = (name: string): string => readFileSync(join(outdir, "stacks/demo", name), "utf8");
        const { resource } = JSON.parse(read("cdk.tf.json")) as { resource: unknown };
        return [read("gateway.bundle.json"), resource];
      } finally {
        rmSync(outdir, { recursive: true });
      }
    };
    const continued = build(buildDemo);
    vi.doUnmock("cdktf");
    vi.resetModules();
    const archived = build((await import("../../examples/demo/gateway.ts")).buildDemo);
    expect(continued).toEqual(archived);
  });

  for (const name of ["gateway", "header-value", "testing", "typed-values", "terraform"]) {
    describe(name, () => import(`./${name}.test.ts`));
  }
});
