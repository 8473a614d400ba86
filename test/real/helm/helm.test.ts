/** examples/kubernetes-ingress/chart with Helm and a real API server. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";

import { makeTestCertificate } from "../../support/certificates.ts";
import { bootOf, example, type Files, rendered } from "../../support/kube-example.ts";
import type { Manifest } from "../../support/kustomize.ts";
import { type Cluster, startCluster } from "../kube/cluster.ts";
import { installHelm } from "./install.ts";
import { BAD_VALUES, VALUE_CASES, valuesWith } from "./values.ts";

const chart = join(example, "chart");
const defaults = parse(await readFile(join(chart, "values.yaml"), "utf8")) as Readonly<Record<string, unknown>>;
let cluster: Cluster;
let program: string;
let files = 0;

async function run(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: cluster.adminConfig, HOME: cluster.directory };
  const { stdout } = await promisify(execFile)(program, args, { env, cwd: cluster.directory });
  return stdout;
}

async function valuesFile(values: object): Promise<string> {
  files += 1;
  const file = join(cluster.directory, `values-${files}.yaml`);
  await writeFile(file, stringify(values));
  return file;
}

const template = async (values: object = {}, ...more: readonly string[]): Promise<string> =>
  run("template", "gateway", chart, ...more, "--namespace", "gateway", "--values", await valuesFile(values));

/** The API server validates it as if it were written. */
async function accepted(manifests: string): Promise<string> {
  const file = await valuesFile({});
  await writeFile(file, manifests);
  return cluster.kubectl("apply", "--dry-run=server", "-f", file);
}

const documents = (text: string): readonly Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((each) => each !== null);

/** By kind and name, without hashes of content; configuration is compared as YAML. */
function comparable(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const hashed = /^gateway-[0-9a-z]{10}$/;
  const named = JSON.parse(
    JSON.stringify(manifests, (_key, value: unknown) =>
      typeof value === "string" ? value.replace(hashed, "gateway-HASH") : value,
    ),
  ) as readonly Manifest[];
  const entries = named
    .filter(({ kind }) => kind !== "Namespace")
    .map((each): [string, unknown] => {
      const texts = each["data"] as Files | undefined;
      const data = texts && Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, parse(text)]));
      return [`${each.kind} ${each.metadata.namespace ?? ""}/${each.metadata.name}`, data ? { ...each, data } : each];
    });
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

const kustomized = async (overlay: "controller" | "gateway"): Promise<readonly Manifest[]> =>
  documents(await cluster.kubectl("kustomize", join(example, "overlays", overlay)));

beforeAll(async () => {
  program = await installHelm();
  cluster = await startCluster();
  await cluster.kubectl("apply", "--server-side", "-f", join(program, "../crds"), "-f", join(chart, "crds"));
  for (const name of ["gateway", "shop", "blog"])
    await cluster.api("POST", "/api/v1/namespaces", { metadata: { name } });
});
afterAll(() => cluster?.close());

describe("the chart", () => {
  test("has nothing that helm lint complains about", async () => {
    const all = await valuesFile({ slices: { app: { version: 1, owner: "app" } }, gatewayApi: { enabled: true } });
    for (const args of [[], ["--strict"], ["--strict", "--values", all]]) {
      const text = await run("lint", chart, ...args);
      expect(text).toContain("1 chart(s) linted, 0 chart(s) failed");
      expect(text).not.toMatch(/\[(?:WARNING|ERROR)\]/);
    }
  });

  test("renders what the overlay of the controller says, and its defaults without the example's team", async () => {
    const overlay = await kustomized("controller");
    const config = bootOf(rendered("controller"));
    expect(comparable(documents(await template({ config }, "--include-crds")))).toEqual(comparable(overlay));
    const without = overlay.map((each) =>
      each.kind === "ConfigMap" ? { ...each, data: { "gateway.yaml": stringify(defaults["config"]) } } : each,
    );
    expect(comparable(documents(await template({}, "--include-crds")))).toEqual(comparable(without));
  });

  test("renders what the overlay without the controller says", async () => {
    const config = { ...bootOf(rendered("gateway")), owners: null };
    const app = parse(await readFile(join(example, "overlays/gateway/app.yaml"), "utf8")) as object;
    const text = await template({ config, slices: { app }, controller: { enabled: false } });
    expect(comparable(documents(text))).toEqual(comparable(await kustomized("gateway")));
  });

  test("renders the permissions on Secrets as secrets-role.yaml says", async () => {
    const role = documents(await readFile(join(example, "secrets-role.yaml"), "utf8"));
    const secrets = Object.fromEntries(
      role.flatMap(({ kind, metadata, rules }) =>
        kind === "Role"
          ? [[metadata.namespace, (rules as readonly { readonly resourceNames: unknown }[])[0]?.resourceNames]]
          : [],
      ),
    );
    const made = comparable(documents(await template({ controller: { secrets } })));
    expect(made).toMatchObject(comparable(role));
  });
});

describe("each value", () => {
  /** Values of the chart; maps that are the user's are one value. */
  const paths = Object.entries(defaults).flatMap(([name, value]) =>
    ["service", "networkPolicy", "controller", "ingressClass", "gatewayApi"].includes(name)
      ? Object.keys(value as object).map((member) => `${name}.${member}`)
      : [name],
  );
  test.for(paths)("%s is used, and the API server accepts the manifests", async (path) => {
    const found = VALUE_CASES[path];
    if (!found) throw new Error(`${path} has no case in values.ts`);
    const gatewayApi = path.startsWith("gatewayApi.") && path !== "gatewayApi.enabled" ? { enabled: true } : {};
    const before = await template({ gatewayApi });
    const own = valuesWith(path, found.value) as { readonly gatewayApi?: object };
    const after = await template({ ...own, gatewayApi: { ...gatewayApi, ...own.gatewayApi } });
    const [more, less, text = ""] =
      found.hides === undefined ? [after, before, found.shows] : [before, after, found.hides];
    expect(more).toContain(text);
    expect(less).not.toContain(text);
    expect(await accepted(after)).toContain("deployment.apps/gateway created (server dry run)");
  });

  test.for(BAD_VALUES)("%j is rejected by the schema", async ([values, message]) => {
    await expect(template(values)).rejects.toThrow(message);
  });
});

describe("a release", () => {
  const own = ["--namespace", "gateway"];
  const replicas = async (): Promise<unknown> =>
    (await cluster.api<{ spec: { replicas: number } }>("GET", "/apis/apps/v1/namespaces/gateway/deployments/gateway"))
      .spec.replicas;
  const names = async (path: string): Promise<readonly string[]> =>
    (await cluster.api<{ items: readonly Manifest[] }>("GET", path)).items.map(({ metadata }) => metadata.name);
  const configs = async (): Promise<readonly string[]> =>
    (await names("/api/v1/namespaces/gateway/configmaps")).filter((name) => name.startsWith("gateway"));

  test("is installed by the README's steps, and its pods meet the restricted standard", async () => {
    await cluster.api("DELETE", "/api/v1/namespaces/gateway");
    await expect.poll(() => names("/api/v1/namespaces")).not.toContain("gateway");
    const folder = await mkdtemp(join(cluster.directory, "chart-"));
    await cp(chart, folder, { recursive: true });
    const readme = await readFile(join(folder, "README.md"), "utf8");
    const [, values = ""] = /^```yaml$(.*?)^```$/ms.exec(readme) ?? [];
    const [, commands = ""] = /^```sh$(.*?)^```$/ms.exec(readme) ?? [];
    expect(commands).toContain("helm install");
    const { cert, key } = makeTestCertificate({ name: "fallback", dns: ["*.example.com"] });
    for (const [name, text] of Object.entries({ "my-values.yaml": values, "tls.crt": cert, "tls.key": key }))
      await writeFile(join(folder, name), text);
    const path = [cluster.programs.directory, join(program, ".."), process.env["PATH"]].join(":");
    const env = { ...process.env, PATH: path, KUBECONFIG: cluster.adminConfig, HOME: cluster.directory };
    const { stdout } = await promisify(execFile)("sh", ["-e", "-c", commands], { cwd: folder, env });
    expect(stdout).toContain("kubectl -n gateway rollout status deployment gateway");
    expect(stdout).not.toContain("not found yet");
    await expect.poll(() => names("/api/v1/namespaces/gateway/pods")).toHaveLength(2);
    expect(await cluster.kubectl("-n", "gateway", "get", "events")).not.toMatch(/forbidden|FailedCreate/);
    for (const [right, can] of [
      ["list ingresses", "yes"],
      ["list secrets", "no"],
    ] as const) {
      const args = ["auth", "can-i", ...right.split(" "), "--as=system:serviceaccount:gateway:gateway", "-A"];
      const said = await cluster.kubectl(...args).catch((error: { readonly stdout?: string }) => error.stdout ?? "");
      expect(said.trim(), right).toBe(can);
    }
  });

  test("is upgraded: another configuration has another name, so that it is a rollout", async () => {
    const [before] = await configs();
    await run(
      "upgrade",
      "gateway",
      chart,
      ...own,
      "--values",
      await valuesFile({ replicas: 3, config: { drain_delay: "5s" } }),
    );
    const after = await configs();
    expect(after).toHaveLength(1);
    expect(after).not.toContain(before);
    expect(await replicas()).toBe(3);
    expect(await run("history", "gateway", ...own)).toMatch(/2\s.*deployed/);
  });

  test("is rolled back, and tells in its notes what is missing", async () => {
    const before = await configs();
    await run("rollback", "gateway", "1", ...own);
    expect(await configs()).not.toEqual(before);
    expect(await replicas()).toBe(2);
    const text = await run("upgrade", "gateway", chart, ...own, "--values", await valuesFile({ secretName: "absent" }));
    expect(text).toContain("- absent (not found yet)");
    expect(text).toContain("The values still name example.com");
  });

  test("leaves nothing of its own behind", async () => {
    await run("uninstall", "gateway", ...own, "--wait");
    expect(await configs()).toEqual([]);
    const left = await cluster.kubectl("get", "clusterroles,clusterrolebindings,ingressclasses", "-o", "name");
    expect(left).not.toMatch(/\/gateway/);
    expect(await names("/api/v1/namespaces/gateway/secrets")).toEqual(
      expect.arrayContaining(["gateway", "gateway-tls"]),
    );
  });
});
