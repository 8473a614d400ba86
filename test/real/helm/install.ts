/** Helm, built from its Go module. */
import { join } from "node:path";

import { installKubeTools } from "../common/kube-tools.ts";

export { HELM_VERSION } from "../common/kube-tools.ts";

/** @returns its path. @throws Error with the reason where it cannot be had */
export async function installHelm(): Promise<string> {
  return join(await installKubeTools("helm"), "helm");
}
