/**
 * Helm, and the conformance suite of Gateway API with its echo server, from one Go module: they use the same version of
 * Kubernetes' client, so it is compiled once (Go 1.26, about 20 minutes of processor time).
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "./cache.ts";

/** The last one with the suite's version of Kubernetes' client. */
export const HELM_VERSION = "4.2.4";
export const GATEWAY_API_VERSION = "1.6.3";

const API = "sigs.k8s.io/gateway-api";
const PACKAGES = {
  helm: "helm.sh/helm/v4/cmd/helm",
  "echo-basic": `${API}/conformance/echo-basic`,
  conformance: `${API}/conformance`,
} as const;

const MODULE = `module gateform.test/tools

go 1.26.0

require (
	helm.sh/helm/v4 v${HELM_VERSION}
	${API} v${GATEWAY_API_VERSION}
	${API}/conformance v${GATEWAY_API_VERSION}
)
`;
const IMPORTS = `//go:build tools

package tools

import (
${Object.values(PACKAGES)
  .map((each) => `	_ "${each}"\n`)
  .join("")})
`;

/** @returns folder with these programs, and `crds`, which has the definitions of Gateway API. @throws Error with the reason where they cannot be had */
export async function installKubeTools(...names: readonly (keyof typeof PACKAGES)[]): Promise<string> {
  return cached(`${names.join("-")}-${HELM_VERSION}-${GATEWAY_API_VERSION}`, async (fresh) => {
    const sources = join(fresh, "sources");
    await mkdir(sources);
    await writeFile(join(sources, "go.mod"), MODULE);
    await writeFile(join(sources, "tools.go"), IMPORTS);
    await run("go", ["mod", "tidy"], sources);
    const definitions = await run("go", ["list", "-m", "-f", "{{.Dir}}", API], sources);
    await run(
      "cp",
      ["-r", "--no-preserve=mode", join(definitions.trim(), "config/crd/standard"), join(fresh, "crds")],
      sources,
    );
    for (const name of names) {
      // The suite is a package of tests.
      const command = name === "conformance" ? ["test", "-c"] : ["build"];
      const options = ["-p", "2", "-ldflags", "-s -w", "-o", join(fresh, name)];
      await run("go", [...command, ...options, PACKAGES[name]], sources);
    }
    await rm(sources, { recursive: true });
  });
}
