/** Checks the shape of an Ingress from a file, which an API server would have enforced. */
import { describe } from "../../settings/problem.ts";
import { isNamespace } from "./objects.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";
import { isRecord } from "../../shared/is-record.ts";

/** Problems of a value at a path. */
export type ShapeCheck = (value: unknown, path: string) => Iterable<DraftProblem>;

export const text: ShapeCheck = leaf("text", (value) => typeof value === "string");
const namespace = leaf("the name of a namespace", isNamespace);
export const anything: ShapeCheck = () => [];
const port = block({ name: text, number: leaf("a number", (value) => Number.isInteger(value)) });
const backend = block({ service: block({ name: text, port }), resource: anything });

const ingress = block({
  metadata: block({ annotations: block({}), creationTimestamp: text, name: text, namespace }),
  spec: block({
    ingressClassName: text,
    defaultBackend: backend,
    tls: list(block({ hosts: list(text), secretName: text })),
    rules: list(block({ host: text, http: block({ paths: list(block({ path: text, pathType: text, backend })) }) })),
  }),
});

/** Problems that would make reading it unsafe; other members are ignored. */
export function shapeProblems(value: unknown): readonly DraftProblem[] {
  return [...ingress(value, "")];
}

export function leaf(expected: string, isRight: (value: unknown) => boolean): ShapeCheck {
  return function* (value, path) {
    if (!isRight(value)) yield ingressError({ path }, `is ${describe(value)}, must be ${expected}`);
  };
}

export function block(members: Readonly<Record<string, ShapeCheck>>): ShapeCheck {
  return function* (value, path) {
    if (!isRecord(value)) {
      yield ingressError({ path }, `is ${describe(value)}, must be a block`);
      return;
    }
    for (const [name, shape] of Object.entries(members)) {
      if (value[name] !== undefined) yield* shape(value[name], path === "" ? name : `${path}.${name}`);
    }
  };
}

/** A block with members that it must have. */
export function needing(needed: readonly string[], members: Readonly<Record<string, ShapeCheck>>): ShapeCheck {
  const shape = block(members);
  return function* (value, path) {
    yield* shape(value, path);
    if (!isRecord(value)) return;
    for (const name of needed)
      if (value[name] === undefined) yield ingressError({ path: `${path}.${name}` }, "is missing");
  };
}

export function list(item: ShapeCheck): ShapeCheck {
  return function* (value, path) {
    if (!Array.isArray(value)) yield ingressError({ path }, `is ${describe(value)}, must be a list`);
    else for (const [index, each] of value.entries()) yield* item(each, `${path}[${index}]`);
  };
}
