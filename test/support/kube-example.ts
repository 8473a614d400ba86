/** examples/kubernetes-ingress, for its tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { type Manifest, renderKustomization } from "./kustomize.ts";

/** Folder of the example. */
export const example = new URL("../../examples/kubernetes-ingress/", import.meta.url).pathname;
export const overlays = ["controller", "gateway"] as const;

export function rendered(overlay: (typeof overlays)[number]): readonly Manifest[] {
  return renderKustomization(join(example, "overlays", overlay));
}

/** Keys of the Secret "gateway" from the README. */
export const secretKeys: readonly string[] = [
  ...readFileSync(join(example, "README.md"), "utf8").matchAll(/--from-literal=([a-z-]+)=/g),
].map(([, key = ""]) => key);

/** Name → text. */
export type Files = Readonly<Record<string, string>>;

export function findManifest(manifests: readonly Manifest[], kind: string): Manifest {
  const manifest = manifests.find((each) => each.kind === kind);
  if (!manifest) throw new Error(`There is no ${kind}`);
  return manifest;
}

/** The main configuration file. */
export function bootOf(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const { "gateway.yaml": text = "" } = findManifest(manifests, "ConfigMap")["data"] as Files;
  return parse(text) as Readonly<Record<string, unknown>>;
}
