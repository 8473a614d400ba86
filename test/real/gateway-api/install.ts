/** The conformance suite of Gateway API and its echo server, with the programs of Kubernetes. */
import { join } from "node:path";

import { installKubeTools } from "../common/kube-tools.ts";
import { installKube } from "../kube/install.ts";

export { GATEWAY_API_VERSION } from "../common/kube-tools.ts";

export interface ConformancePrograms {
  readonly suite: string;
  readonly echo: string;
  /** Folder with the resource definitions. */
  readonly definitions: string;
}

/** @throws Error with the reason where it cannot be had */
export async function installConformance(): Promise<ConformancePrograms> {
  await installKube();
  const directory = await installKubeTools("echo-basic", "conformance");
  const at = (name: string): string => join(directory, name);
  return { suite: at("conformance"), echo: at("echo-basic"), definitions: at("crds") };
}
