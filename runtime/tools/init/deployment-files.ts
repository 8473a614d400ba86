/** Files of `gateway init` for systemd, Docker Compose and Kubernetes. */
import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";

import type { InitAnswers } from "./questions.ts";

export interface DeploymentOptions {
  readonly version: string;
  /** Where the files go. */
  readonly directory: string;
  /** @param path below examples/ of the package */
  readonly findExample: (path: string) => Promise<string>;
}

/** @returns file name → text */
export async function deploymentFiles(
  answers: InitAnswers,
  { version, directory, findExample }: DeploymentOptions,
): Promise<Readonly<Record<string, string>>> {
  switch (answers.target) {
    case "local":
      return {};
    case "systemd":
      return { "gateway.service": unitText(await readFile(await findExample("systemd/gateway.service"), "utf8")) };
    case "compose":
      return { "compose.yaml": composeText(answers, version) };
    default: {
      const base = await findExample("kubernetes-ingress/base");
      return { "kustomization.yaml": kustomizationText(relative(resolve(directory), base), version) };
    }
  }
}

/** The unit of the examples, with the secrets of gateway.env instead of one file each. */
function unitText(unit: string): string {
  return unit
    .replace(
      /# Read as file:.*\n(?:LoadCredential=.*\n)+/,
      "EnvironmentFile=/etc/gateway-secrets/gateway.env\n# Readable for the service alone.\nBindReadOnlyPaths=/etc/gateway-secrets\n",
    )
    .replace("run --config /etc/gateway\n", "run --config /etc/gateway/gateway.yaml\n");
}

function composeText({ url, certificates, storage }: InitAnswers, version: string): string {
  const port = new URL(url).port || (url.startsWith("https://") ? "443" : "80");
  const tls =
    certificates === "files"
      ? ["      - ./tls.crt:/etc/gateway/tls.crt:ro", "      - ./tls.key:/etc/gateway/tls.key:ro"]
      : [];
  const lines = [
    "# docker compose up --build",
    "services:",
    "  gateway:",
    "    build:",
    "      dockerfile_inline: |",
    "        FROM node:26-slim",
    `        RUN npm install --global --omit=dev --ignore-scripts gateform@${version}`,
    "        RUN mkdir /data && chown 1000:1000 /data",
    "        USER 1000:1000",
    '        ENTRYPOINT ["gateway"]',
    "    command: [run, --config, /etc/gateway/gateway.yaml]",
    "    env_file: gateway.env",
    `    ports: ["${port}:${port}"]`,
    // Port 443 without root.
    "    sysctls: { net.ipv4.ip_unprivileged_port_start: 0 }",
    "    read_only: true",
    "    cap_drop: [ALL]",
    '    security_opt: ["no-new-privileges:true"]',
    "    stop_grace_period: 45s",
    "    volumes:",
    "      - ./gateway.yaml:/etc/gateway/gateway.yaml:ro",
    ...tls,
    ...(storage === "sqlite" || certificates === "acme" ? ["      - data:/data"] : []),
    '    tmpfs: ["/tmp"]',
    "    environment: { NODE_OPTIONS: --max-old-space-size=256 }",
    "    deploy: { resources: { limits: { memory: 512M } } }",
    "    restart: unless-stopped",
    ...(storage === "sqlite" || certificates === "acme" ? ["volumes:", "  data: {}"] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function kustomizationText(base: string, version: string): string {
  return `# kubectl apply -k .
# The certificate is the Secret "gateway-tls": kubectl -n gateway create secret tls gateway-tls --cert tls.crt --key tls.key
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  # Copy the folder next to this file to keep it under your own control.
  - ${base}
images:
  # Your registry: examples/container/Dockerfile builds the image.
  - { name: gateform, newName: registry.example.com/gateform, newTag: "${version}" }
configMapGenerator:
  - name: gateway
    namespace: gateway
    behavior: replace
    files: [gateway.yaml]
secretGenerator:
  - name: gateway
    namespace: gateway
    envs: [gateway.env]
    options: { disableNameSuffixHash: true }
`;
}
