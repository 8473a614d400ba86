/**
 * Templates of examples/kubernetes-ingress/chart, made of the Kustomize base and the overlay `controller`: the same text, with
 * values in some places. So a change of the base is one of the chart, or an error here.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { example } from "./kube-example.ts";

/** One text of the base that is a value in the chart. */
export interface ChartValue {
  /** Template → text there, which must occur exactly once. */
  readonly file: string;
  readonly text: string;
  readonly by: string;
  /** Path of the value whose default is this text, read as YAML. */
  readonly value?: string;
}

/** Every template's names: those of the release. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/\bname: gateway(?=$|[,\s}])(?<!- name: gateway)/gm, "name: {{ .Release.Name | quote }}"],
  [/\bapp\.kubernetes\.io\/name: gateway\b/g, "app.kubernetes.io/name: {{ .Release.Name | quote }}"],
  [/\bserviceAccountName: gateway\b/g, "serviceAccountName: {{ .Release.Name | quote }}"],
  [/\bnamespace: gateway\b/g, "namespace: {{ .Release.Namespace | quote }}"],
  [/=gateway\/gateway$/gm, "={{ .Release.Namespace }}/{{ .Release.Name }}"],
  [/=gateway\/gateway-ingress-controller$/gm, "={{ .Release.Namespace }}/{{ .Release.Name }}-ingress-controller"],
  [/\bgateway-ingress-controller\b/g, "{{ .Release.Name }}-ingress-controller"],
  [/\bgateway-ingress-secrets\b/g, "{{ .Release.Name }}-ingress-secrets"],
];

const CONFIG_NAME = '{{ include "gateway.configName" . | quote }}';

export const CHART_VALUES: readonly ChartValue[] = [
  {
    file: "deployment.yaml",
    text: "replicas: 2",
    by: "replicas: {{ .Values.replicas }}",
    value: "replicas",
  },
  {
    file: "deployment.yaml",
    text: "      labels: { app.kubernetes.io/name: gateway }\n    spec:\n",
    by: `      labels: { app.kubernetes.io/name: gateway }
      {{- with .Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . | quote }}
        {{- end }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
`,
  },
  {
    file: "deployment.yaml",
    text: "          # Your image, built as in examples/container and pushed to a registry.\n          image: gateform:local",
    by: "          image: {{ .Values.image | quote }}",
    value: "image",
  },
  {
    file: "deployment.yaml",
    text: "{ name: NODE_OPTIONS, value: --max-old-space-size=256 }",
    by: "{ name: NODE_OPTIONS, value: {{ .Values.nodeOptions | quote }} }",
    value: "nodeOptions:value",
  },
  {
    file: "deployment.yaml",
    text: `resources:
            requests: { cpu: 250m, memory: 256Mi }
            limits: { memory: 512Mi }`,
    by: "resources: {{- toYaml .Values.resources | nindent 12 }}",
    value: "resources",
  },
  {
    file: "deployment.yaml",
    text: "configMap: { name: gateway }",
    by: `configMap: { name: ${CONFIG_NAME} }
              {{- if .Values.slices }}
              - configMap: { name: {{ printf "%s-slices" .Release.Name | quote }} }
              {{- end }}`,
  },
  {
    file: "deployment.yaml",
    text: "secret: { secretName: gateway, defaultMode: 288 }",
    by: "secret: { secretName: {{ .Values.secretName | quote }}, defaultMode: 288 }",
    value: "secretName:secret.secretName",
  },
  {
    file: "deployment.yaml",
    text: "secret: { secretName: gateway-tls, defaultMode: 288 }",
    by: "secret: { secretName: {{ .Values.tlsSecretName | quote }}, defaultMode: 288 }",
    value: "tlsSecretName:secret.secretName",
  },
  {
    file: "deployment.yaml",
    text: "image: gateform:local\n          args:\n            - ingress",
    by: "image: {{ .Values.image | quote }}\n          args:\n            - ingress",
  },
  {
    file: "deployment.yaml",
    text: "            - --address-service=gateway/gateway\n",
    by: `            - --address-service=gateway/gateway
            {{- with .Values.controller.args }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
`,
  },
  {
    file: "deployment.yaml",
    text: "{ name: NODE_OPTIONS, value: --max-old-space-size=192 --max-semi-space-size=2 }",
    by: "{ name: NODE_OPTIONS, value: {{ .Values.controller.nodeOptions | quote }} }",
    value: "controller.nodeOptions:value",
  },
  {
    file: "deployment.yaml",
    text: `resources:
            # 160 MiB, and 15 KiB for each Ingress with its Service.
            requests: { cpu: 50m, memory: 192Mi }
            limits: { memory: 384Mi }`,
    by: "resources: {{- toYaml .Values.controller.resources | nindent 12 }}",
    value: "controller.resources",
  },
  {
    file: "deployment.yaml",
    text: "            secretName: gateway\n",
    by: "            secretName: {{ .Values.secretName | quote }}\n",
  },
  {
    file: "service.yaml",
    text: "  namespace: gateway\nspec:\n",
    by: `  namespace: gateway
  {{- with .Values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
`,
  },
  {
    file: "service.yaml",
    text: "type: LoadBalancer",
    by: "type: {{ .Values.service.type }}",
    value: "service.type:type",
  },
  {
    file: "service.yaml",
    text: "  externalTrafficPolicy: Local\n",
    by: `  {{- if ne .Values.service.type "ClusterIP" }}
  externalTrafficPolicy: {{ .Values.service.externalTrafficPolicy }}
  {{- end }}
`,
    value: "service.externalTrafficPolicy:externalTrafficPolicy",
  },
  {
    file: "network-policy.yaml",
    text: "kubernetes.io/metadata.name: monitoring",
    by: "kubernetes.io/metadata.name: {{ .Values.networkPolicy.monitoringNamespace | quote }}",
    value: "networkPolicy.monitoringNamespace:kubernetes.io/metadata.name",
  },
  {
    file: "ingress-class.yaml",
    text: "  name: gateway\n",
    by: `  name: {{ .Values.ingressClass.name | quote }}
  {{- if .Values.ingressClass.default }}
  annotations:
    ingressclass.kubernetes.io/is-default-class: "true"
  {{- end }}
`,
    value: "ingressClass.name:name",
  },
  {
    file: "secrets-role.yaml",
    text: "  namespace: shop\nrules:",
    by: "  namespace: {{ $namespace | quote }}\nrules:",
  },
  {
    file: "secrets-role.yaml",
    text: "resourceNames: [shop-tls, github-oauth, github-guardrail, crm-oauth, builds-oauth, backend-headers, backend-ca, backend-client]",
    by: "resourceNames: {{ toJson $names }}",
  },
  {
    file: "secrets-role.yaml",
    text: "  namespace: shop\nroleRef:",
    by: "  namespace: {{ $namespace | quote }}\nroleRef:",
  },
];

const here = (file: string): string => readFileSync(join(example, file), "utf8");

/** Template → its text before values and names are replaced. */
function sources(): ReadonlyMap<string, string> {
  const [, serviceAccount = ""] = here("base/namespace.yaml").split("---\n");
  // One Role for each namespace of `controller.secrets`: the example's second one, of the gateway's own, is one of them.
  const [secretsRole = ""] = here("secrets-role.yaml").split("---\n# The same for certificates");
  const controlled = (text: string): string => `{{- if .Values.controller.enabled }}\n${text}{{- end }}\n`;
  return new Map([
    ["service-account.yaml", serviceAccount],
    ["deployment.yaml", withController(here("base/deployment.yaml"))],
    ["service.yaml", here("base/service.yaml")],
    ["disruption-budget.yaml", here("base/disruption-budget.yaml")],
    ["network-policy.yaml", `{{- if .Values.networkPolicy.enabled }}\n${here("base/network-policy.yaml")}{{- end }}\n`],
    [
      "ingress-class.yaml",
      `{{- if and .Values.controller.enabled .Values.ingressClass.enabled }}\n${here("overlays/controller/ingress-class.yaml")}{{- end }}\n`,
    ],
    ["rights.yaml", controlled(here("overlays/controller/rights.yaml"))],
    [
      "secrets-role.yaml",
      controlled(`{{- range $namespace, $names := .Values.controller.secrets }}\n---\n${secretsRole}{{- end }}\n`),
    ],
  ]);
}

/** The overlay's JSON patches, which add to lists, as text at the ends of these lists. */
function withController(deployment: string): string {
  const patches = here("overlays/controller/controller.yaml").split(/^(?:#.*\n)*- op: add\n/m);
  const added = { containers: "", volumes: "" };
  for (const patch of patches.filter((text) => text.includes("path:"))) {
    const [, list, value] =
      /^ {2}path: \/spec\/template\/spec\/(containers|volumes)\/-\n {2}value:\n([^]*)$/.exec(patch) ?? [];
    if (value === undefined) throw new Error(`controller.yaml has a patch that the chart does not know:\n${patch}`);
    const lines = value
      .trimEnd()
      .split("\n")
      .map((line, at) => `${at === 0 ? "        - " : "          "}${line.slice(4)}\n`);
    added[list as keyof typeof added] += lines.join("");
  }
  const only = (text: string): string => `        {{- if .Values.controller.enabled }}\n${text}        {{- end }}\n`;
  const [before = "", volumes = ""] = deployment.split("      volumes:\n");
  return `${before}${only(added.containers)}      volumes:\n${volumes}${only(added.volumes)}`;
}

/** File of the chart → text. @throws Error where the base has no longer a text that is a value */
export function chartFiles(): ReadonlyMap<string, string> {
  // Helm installs what is there before the templates, and leaves it at an upgrade and when the release is removed.
  const made = new Map([["crds/gateway-route-policy.yaml", here("overlays/controller/gateway-route-policy.yaml")]]);
  for (const [file, source] of sources()) {
    let text = source;
    for (const each of CHART_VALUES.filter((value) => value.file === file)) {
      const parts = text.split(each.text);
      if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times:\n${each.text}`);
      text = parts.join(each.by);
    }
    for (const [pattern, by] of NAMES) text = text.replaceAll(pattern, by);
    if (file === "secrets-role.yaml") text = text.replaceAll(" .Release", " $.Release");
    made.set(`templates/${file}`, `{{- /* Made from the Kustomize base: test/support/helm-chart.ts */}}\n${text}`);
  }
  return made;
}
