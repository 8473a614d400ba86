/** Permissions that Roles give to a service account, and those that were used, by the rules of the API server. */
import type { SeenRequest } from "./kube-api.ts";
import { readCollection, readGroup } from "./kube-objects.ts";
import type { Manifest } from "./kustomize.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** One verb on one resource, "*" where names or namespaces do not matter. */
export interface Right {
  readonly namespace: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  readonly verb: string;
}

/** Of the ClusterRole system:discovery, which no manifest of ours gives. */
export const DISCOVERY = "discovery";

export interface Rights {
  /** Every single one, as text. */
  readonly given: readonly string[];
  /** The first that allows it; undefined: 403. */
  find(request: SeenRequest): string | undefined;
}

/** @param account of the bindings' subjects */
export function readRights(
  manifests: readonly Manifest[],
  account: { readonly namespace: string; readonly name: string },
): Rights {
  const rights = manifests.filter(({ kind }) => kind.endsWith("RoleBinding")).flatMap((binding) => rightsOf(binding));
  return {
    given: rights.map(textOf),
    find(request) {
      // Every account may look which kinds there are.
      if (readGroup(request.path)) return DISCOVERY;
      const asked = rightAsked(request);
      const right = asked && rights.find((each) => covers(each, asked));
      return right && textOf(right);
    },
  };

  function rightsOf(binding: Manifest): readonly Right[] {
    const subjects = binding["subjects"] as readonly { kind: string; name: string; namespace: string }[];
    const { kind, name } = binding["roleRef"] as { readonly kind: string; readonly name: string };
    const isOurs = subjects.some(
      (each) => each.kind === "ServiceAccount" && each.namespace === account.namespace && each.name === account.name,
    );
    if (!isOurs) return [];
    const namespace = binding.metadata.namespace ?? "*";
    const role = manifests.find(
      (each) => each.kind === kind && each.metadata.name === name && (each.metadata.namespace ?? "*") === namespace,
    );
    if (!role) throw new Error(`${binding.kind} ${binding.metadata.name} refers to no ${kind} ${name}`);
    return (role["rules"] as readonly Rule[]).flatMap(({ apiGroups, resources, resourceNames = ["*"], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((one) => verbs.map((verb) => ({ namespace, group, resource, name: one, verb }))),
        ),
      ),
    );
  }
}

function covers(right: Right, asked: Right): boolean {
  return (["namespace", "group", "resource", "name", "verb"] as const).every(
    (member) =>
      right[member] === asked[member] || (right[member] === "*" && (member === "namespace" || member === "name")),
  );
}

/** @see https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb */
function rightAsked({ method, path, query }: SeenRequest): Right | undefined {
  const target = readCollection(path);
  if (!target) return undefined;
  // A list or watch of one name counts as one of that object.
  const selected = /^metadata\.name=(.+)$/.exec(query.get("fieldSelector") ?? "")?.[1];
  const isWatch = query.get("watch") === "true";
  const reading = target.name === undefined ? (isWatch ? "watch" : "list") : "get";
  const verbs: Readonly<Record<string, string>> = {
    GET: reading,
    POST: "create",
    PUT: "update",
    PATCH: "patch",
    DELETE: "delete",
  };
  return {
    namespace: target.namespace ?? "",
    group: /^\/apis\/([^/]+)\//.exec(path)?.[1] ?? "",
    resource: target.status ? `${target.collection}/status` : target.collection,
    name: target.name ?? selected ?? "",
    verb: verbs[method] ?? method,
  };
}

function textOf({ namespace, group, resource, name, verb }: Right): string {
  return `${verb} ${group === "" ? "" : `${group}/`}${resource} ${namespace}/${name}`;
}
