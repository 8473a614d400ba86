/** examples/kubernetes-ingress, and the commands as people type them. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { startKubeApi } from "../../support/kube-api.ts";
import { ingress, service } from "../../support/kube-manifests.ts";

const root = new URL("../../../", import.meta.url).pathname;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-ingress-cli-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

describe("npm run example kubernetes-ingress", () => {
  test("translates every annotation, and a gateway serves the result", async () => {
    const { stdout } = await run("test/support/run-example.ts", "kubernetes-ingress");

    expect(
      stdout
        .trim()
        .split("\n")
        .filter((line) => !line.startsWith("pass  ")),
    ).toEqual([expect.stringMatching(/^\d+ passed, 0 failed$/)]);
  });
});

describe("gateway ingress translate", () => {
  test("prints the slice, reports problems on standard error, and ends with 1 when an Ingress is omitted", async () => {
    const files = ["ingresses.yaml", "services.yaml"].map((file) => `examples/kubernetes-ingress/${file}`);

    const { code, stdout, stderr } = await run("runtime/main.ts", "ingress", "translate", ...files);

    expect(code).toBe(1);
    expect(parse(stdout)).toMatchObject({ version: 1, owner: "kubernetes.shop" });
    expect(stderr).toContain('Ingress shop/mistake: error: annotation "ingress.gateway.io/set_request_header"');
    expect(stderr).toContain("Ingress shop/web: note: requests TLS for shop.example.com");
  });

  test("requests no Secrets of spec.tls when told to ignore it", async () => {
    const files = ["ingresses.yaml", "services.yaml"].map((file) => `examples/kubernetes-ingress/${file}`);

    const [asking, alone] = await Promise.all(
      [[], ["--no-tls-secrets"]].map((more) => run("runtime/main.ts", "ingress", "translate", ...more, ...files)),
    );

    expect(asking?.stderr).toContain("there is no Secret shop/shop-tls");
    expect(alone?.stderr).not.toContain("there is no Secret shop/shop-tls");
  });

  test("ends with 0 when every Ingress is served; its JSON is in the gateways' format", async () => {
    const file = join(folder, "good.json");
    const items = [ingress("web", { host: "web.example.com" }), service("web")];
    await writeFile(file, JSON.stringify({ kind: "List", apiVersion: "v1", items }));

    const { code, stdout, stderr } = await run(
      "runtime/main.ts",
      "ingress",
      "translate",
      "--json",
      "--owner",
      "team",
      file,
    );

    expect([code, stderr]).toEqual([0, "1 of 1 Ingresses served\n"]);
    expect(JSON.parse(stdout)).toMatchObject({ owner: "team.shop", routes: { "shop.web:web.example.com": {} } });
  });

  test.each([
    [["--owner", "gateway"], /--owner/],
    [["--scheme", "ftp"], /--scheme/],
    [["--port", "0"], /--port/],
    [["--seal-key", "package.json"], /seal key/],
  ])("refuses %j", async (options, message) => {
    const { code, stdout, stderr } = await run("runtime/main.ts", "ingress", "translate", ...options, "package.json");

    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(message);
  });
});

describe("gateway ingress watch", () => {
  test("publishes into a directory, leads by a Lease, and gives it back at SIGTERM", async () => {
    await using api = Object.assign(await startKubeApi(), {
      [Symbol.asyncDispose]: async () => {
        await api.close();
      },
    });
    api.apply(service("web"));
    api.apply(ingress("web", { host: "web.example.com" }));
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, api.kubeconfig);
    const slices = join(folder, "slices");
    const args = [
      "--publish-directory",
      slices,
      "--kubeconfig",
      kubeconfig,
      "--lease",
      "gateway/controller",
      "--address",
      "203.0.113.7",
    ];
    const child = execFile(process.execPath, ["runtime/main.ts", "ingress", "watch", ...args], { cwd: root });
    const ended = new Promise((resolve) => child.once("close", resolve));
    const holder = (): unknown =>
      (api.objects("leases")[0]?.["spec"] as { holderIdentity?: string } | undefined)?.holderIdentity;

    await api.until(() => api.objects("ingresses")[0]?.["status"] !== undefined);
    expect(holder()).not.toBe("");
    child.kill("SIGTERM");

    expect(await ended).toBe(0);
    expect(JSON.parse(await readFile(join(slices, "kubernetes.shop.json"), "utf8"))).toMatchObject({
      routes: { "shop.web:web.example.com": { from: "https://web.example.com" } },
    });
    expect(holder()).toBe("");
  });

  test.each([
    [[], /one of them/],
    [["--publish-directory", "a", "--publish-url", "http://b"], /one of them/],
    [["--publish-url", "http://127.0.0.1:1"], /--admin-token-file/],
    [["--publish-directory", "a", "--lease", "nonsense"], /namespace\/name/],
  ])("refuses %j", async (options, message) => {
    const { code, stderr } = await run("runtime/main.ts", "ingress", "watch", ...options);

    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});
