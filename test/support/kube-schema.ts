/**
 * Whether an object is one of Kubernetes: by the JSON schemas that the package `kubernetes-models` carries (what must be
 * there, and of which kind), and by the models of the official client (what may be there at all; the schemas let members
 * pass that they do not know, where kubectl and the API server complain).
 */
import * as client from "@kubernetes/client-node";

import type { Manifest } from "./kustomize.ts";
import { isRecord } from "../../runtime/shared/is-record.ts";

interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[];
}

const models = client as unknown as Readonly<Record<string, Model | undefined>>;

/** @returns what is wrong, each with its place */
export async function schemaProblems(manifest: Manifest): Promise<readonly string[]> {
  const { apiVersion, kind } = manifest;
  const entry = `kubernetes-models/${apiVersion}`;
  const schemas = (await import(/* @vite-ignore */ entry)) as Readonly<
    Record<string, (new (object: object) => { validate(): void }) | undefined>
  >;
  const Schema = schemas[kind];
  const version = apiVersion.split("/").at(-1) ?? "";
  const model = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  if (!Schema || !models[model]) return [`${kind} of ${apiVersion} is no kind`];
  const problems = [...unknownMembers(manifest, model, kind)];
  try {
    new Schema(manifest).validate();
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  return problems;
}

/** @param type as the client writes it: "V1Pod", "Array<V1Container>", "{ [key: string]: string; }", "string" */
function* unknownMembers(value: unknown, type: string, place: string): Iterable<string> {
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  if (item !== undefined) {
    for (const [index, each] of (Array.isArray(value) ? value : []).entries()) {
      yield* unknownMembers(each, item, `${place}[${index}]`);
    }
    return;
  }
  const model = models[type];
  if (!model || !isRecord(value)) return;
  const members = new Map(model.getAttributeTypeMap().map(({ baseName, type: kind }) => [baseName, kind]));
  for (const [name, each] of Object.entries(value)) {
    const kind = members.get(name);
    if (kind === undefined) yield `${place}.${name} is not known`;
    else yield* unknownMembers(each, kind, `${place}.${name}`);
  }
}
