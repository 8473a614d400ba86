/**
 * Output of `kubectl kustomize` for a folder, as far as the examples need it: resources, generated ConfigMaps and JSON 6902
 * patches that add. Anything else is an error, so that nothing is rendered wrongly.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { parse, parseAllDocuments } from "yaml";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [member: string]: unknown;
}

interface Generator {
  readonly name: string;
  readonly namespace: string;
  readonly behavior?: "replace";
  readonly files: readonly string[];
  readonly options?: { readonly disableNameSuffixHash: boolean };
}

interface Patch {
  readonly target: { readonly kind: string; readonly name: string };
  readonly patch?: string;
  readonly path?: string;
}

interface Kustomization {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resources: readonly string[];
  readonly configMapGenerator?: readonly Generator[];
  readonly patches?: readonly Patch[];
}

interface Rendered {
  readonly manifests: readonly Manifest[];
  /** Not named by their content yet: an overlay may replace them. */
  readonly generated: ReadonlyMap<string, { readonly manifest: Manifest; readonly isHashed: boolean }>;
}

/** @param folder with a kustomization.yaml */
export function renderKustomization(folder: string): readonly Manifest[] {
  const { manifests, generated } = render(folder);
  const names = new Map<string, string>();
  const maps = [...generated.values()].map(({ manifest, isHashed }) => {
    const digest = createHash("sha256").update(JSON.stringify(manifest)).digest("hex").slice(0, 10);
    const name = isHashed ? `${manifest.metadata.name}-${digest}` : manifest.metadata.name;
    names.set(manifest.metadata.name, name);
    return { ...manifest, metadata: { ...manifest.metadata, name } };
  });
  return [...manifests.map((each) => withNames(each, names) as Manifest), ...maps];
}

function render(folder: string): Rendered {
  const text = readFileSync(join(folder, "kustomization.yaml"), "utf8");
  const { apiVersion, kind, resources, configMapGenerator = [], patches = [], ...rest } = parse(text) as Kustomization;
  expectNone(rest, folder);
  if (apiVersion !== "kustomize.config.k8s.io/v1beta1" || kind !== "Kustomization")
    throw new Error(`${folder} has no Kustomization`);
  const manifests: Manifest[] = [];
  const generated = new Map<string, { readonly manifest: Manifest; readonly isHashed: boolean }>();
  for (const resource of resources) {
    const path = join(folder, resource);
    if (statSync(path).isDirectory()) {
      const base = render(path);
      manifests.push(...base.manifests);
      for (const [name, map] of base.generated) generated.set(name, map);
    } else manifests.push(...readManifestFile(path));
  }
  for (const generator of configMapGenerator) {
    const { name, namespace, behavior, files, options, ...others } = generator;
    expectNone(others, folder);
    const before = generated.get(name);
    if ((before !== undefined) !== (behavior === "replace")) throw new Error(`ConfigMap ${name} is there, or is not`);
    const data = Object.fromEntries(files.map((file) => [basename(file), readFileSync(join(folder, file), "utf8")]));
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
    generated.set(name, { manifest, isHashed: before?.isHashed ?? options?.disableNameSuffixHash !== true });
  }
  return { manifests: patches.reduce((all, patch) => patched(all, patch, folder), manifests), generated };
}

export function readManifestFile(path: string): readonly Manifest[] {
  const documents = parseAllDocuments(readFileSync(path, "utf8"));
  return (Array.isArray(documents) ? documents : []).map((document) => document.toJS() as Manifest);
}

function patched(manifests: readonly Manifest[], { target, patch, path, ...rest }: Patch, folder: string): Manifest[] {
  expectNone(rest, folder);
  const text = patch ?? readFileSync(join(folder, path ?? ""), "utf8");
  const steps = parse(text) as readonly { readonly op: string; readonly path: string; readonly value: unknown }[];
  const found = manifests.find(({ kind, metadata }) => kind === target.kind && metadata.name === target.name);
  if (!found) throw new Error(`${folder} patches ${target.kind} ${target.name}, which is not there`);
  const next = structuredClone(found);
  for (const { op, path: at, value } of steps) {
    if (op !== "add") throw new Error(`Cannot patch by "${op}"`);
    add(next, at, value);
  }
  return manifests.map((each) => (each === found ? next : each));
}

/** @see RFC 6902 §4.1 */
function add(target: object, pointer: string, value: unknown): void {
  const parts = pointer.split("/").slice(1);
  const last = parts.pop() ?? "";
  const parent = parts.reduce<unknown>(
    (at, part) => (at as Readonly<Record<string, unknown>>)[part],
    target as unknown,
  ) as Record<string, unknown> | unknown[] | undefined;
  if (parent === undefined) throw new Error(`Cannot patch ${pointer} of ${dirname(pointer)}: it is not there`);
  if (Array.isArray(parent)) {
    if (last !== "-") throw new Error(`Cannot patch ${pointer}: only the end of lists is known here`);
    parent.push(value);
  } else parent[last] = value;
}

/** Volumes name ConfigMaps, which are named by their content. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => withNames(each, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, each]) => {
      if (member !== "configMap") return [member, withNames(each, names)];
      const { name } = each as { readonly name: string };
      return [member, { ...(each as object), name: names.get(name) ?? name }];
    }),
  );
}

function expectNone(rest: object, folder: string): void {
  const [name] = Object.keys(rest);
  if (name !== undefined) throw new Error(`Cannot render "${name}" of ${folder}: this part does not know it`);
}
