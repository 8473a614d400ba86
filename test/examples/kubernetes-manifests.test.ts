/** examples/kubernetes-ingress in a cluster: its rendered manifests. The processes are in kubernetes-pods.test.ts. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { parseDuration } from "../../runtime/settings/values.ts";
import { bootOf, example, findManifest, overlays, rendered } from "../support/kube-example.ts";
import { podOf } from "../support/kube-pod.ts";
import { schemaProblems } from "../support/kube-schema.ts";
import { type Manifest, readManifestFile } from "../support/kustomize.ts";

describe.each(overlays)("overlay %s", (overlay) => {
  const manifests = rendered(overlay);
  const pod = podOf(manifests);
  const boot = bootOf(manifests);

  test("is what Kubernetes takes, every member known", async () => {
    const problems = await Promise.all(
      [...manifests, ...readManifestFile(join(example, "secrets-role.yaml"))].map((each) => schemaProblems(each)),
    );
    expect(problems.flat()).toEqual([]);
  });

  test("is rendered by kubectl alike, where there is one", async () => {
    const folder = join(example, "overlays", overlay);
    const { stdout } = await promisify(execFile)("kubectl", ["kustomize", folder]).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { stdout: undefined };
      throw error;
    });
    if (stdout === undefined) {
      console.warn("kubectl is not on the PATH: the manifests are rendered by test/support/kustomize.ts alone");
      return;
    }
    const theirs = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
    expect(comparable(theirs)).toEqual(comparable(manifests));
  });

  test("gives a stopping pod more time than its drain takes", () => {
    const drainMs = [boot["drain_delay"], boot["drain_timeout"]].reduce<number>((sum, text) => {
      const parsed = parseDuration(String(text));
      return sum + (parsed.ok ? parsed.value : Number.NaN);
    }, 0);
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(drainMs + 10_000);
  });

  test("names only volumes, ports and selectors that are there", () => {
    const volumes = pod.volumes.map(({ name }) => name);
    for (const container of pod.containers) {
      for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
      // Files outside of a volume would not be there: the image holds no configuration.
      const mounts = container.volumeMounts.map(({ mountPath }) => `${mountPath}/`);
      const written = container.name === "gateway" ? JSON.stringify(boot) : container.args.join("\n");
      for (const [path] of written.matchAll(/\/etc\/gateway\/[^"\n]+/g)) {
        expect(mounts.some((mount) => path.startsWith(mount))).toBe(true);
      }
    }
    const ports = pod.containers.flatMap((container) => (container.ports ?? []).map(({ name }) => name));
    const policy = findManifest(manifests, "NetworkPolicy")["spec"] as NetworkPolicySpec;
    const service = findManifest(manifests, "Service")["spec"] as { ports: { targetPort: string }[]; selector: object };
    const budget = findManifest(manifests, "PodDisruptionBudget")["spec"] as { selector: { matchLabels: object } };
    const reached = policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port));
    expect(ports).toEqual(expect.arrayContaining([...reached, ...service.ports.map(({ targetPort }) => targetPort)]));
    const { metadata } = (findManifest(manifests, "Deployment")["spec"] as { template: Manifest }).template;
    for (const selector of [policy.podSelector.matchLabels, budget.selector.matchLabels, service.selector]) {
      expect(metadata).toMatchObject({ labels: selector });
    }
  });

  test("lets other pods reach what is public, and the admin listener by name of their namespace only", () => {
    const { ingress, egress, policyTypes } = findManifest(manifests, "NetworkPolicy")["spec"] as NetworkPolicySpec;
    expect(policyTypes).toEqual(["Ingress", "Egress"]);
    const open = ingress.filter(({ from }) => from === undefined).flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(open).toEqual(["https", "http"]);
    const blocks = egress.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock));
    expect(blocks).toContainEqual({ cidr: "0.0.0.0/0", except: ["169.254.0.0/16"] });
  });

  test("meets the Pod Security Standard that its namespace enforces, and writes nowhere", () => {
    expect(findManifest(manifests, "Namespace").metadata).toMatchObject({
      labels: { "pod-security.kubernetes.io/enforce": "restricted" },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    for (const { securityContext, volumeMounts, resources } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(volumeMounts.every(({ readOnly }) => readOnly === true)).toBe(true);
      expect(resources.limits).toHaveProperty("memory");
    }
  });
});

test("the controller's boot file is the base's, with owners", () => {
  const { owners, ...rest } = bootOf(rendered("controller"));
  expect(rest).toEqual(bootOf(rendered("gateway")));
  expect(Object.keys(owners as object)).toContain("kubernetes.*");
});

test("the gateway has neither the controller's account nor a secret that it does not need", () => {
  const pod = podOf(rendered("controller"));
  const mountsOf = (name: string): readonly string[] =>
    pod.containers.find((each) => each.name === name)?.volumeMounts.map((mount) => mount.name) ?? [];
  expect(mountsOf("gateway")).toEqual(["config", "secret", "tls"]);
  expect(mountsOf("ingress-controller")).toEqual(["controller", "account"]);
  expect(pod.volumes.find(({ name }) => name === "controller")?.secret?.items).toEqual([
    { key: "publish-token", path: "publish-token" },
  ]);
});

interface NetworkPolicySpec {
  readonly podSelector: { readonly matchLabels: object };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly {
    readonly from?: readonly object[];
    readonly ports: readonly { readonly port: string }[];
  }[];
  readonly egress: readonly { readonly to?: readonly { readonly ipBlock: object }[] }[];
}

/** In one order, and without the digest that ends the names of ConfigMaps. */
function comparable(manifests: readonly Manifest[]): readonly string[] {
  const text = (manifest: Manifest): string =>
    JSON.stringify(sorted(manifest)).replaceAll(/"gateway-[a-z0-9]{10}"/g, '"gateway-…"');
  return manifests.map(text).toSorted();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]));
}
