/**
 * Members of federated routes whose own Ingress is not served: they are omitted, since a gateway rejects a whole slice for a
 * member that is missing.
 */
import { isFederated } from "../../../features/mcp/members.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { quote } from "../../../settings/problem.ts";
import type { IngressDraft } from "../draft.ts";
import { type DraftProblem, ingressError, ingressWarning } from "../ingress-problem.ts";
import { ownerOf } from "../slices.ts";

const ANNOTATION = { annotation: "mcp_server_members" };

/** @returns the drafts that can be served @param report gets the problems of one Ingress */
export function withServedMembers(
  drafts: readonly IngressDraft[],
  owner: string,
  report: (key: string, problem: DraftProblem) => void,
): readonly IngressDraft[] {
  const servers = new Set<string>();
  for (const { namespace, routes } of drafts)
    for (const { name, doc } of routes) {
      const server = serverOf(doc);
      if (server && !isFederated(server)) servers.add(keyOf(name, owner, namespace));
    }
  return drafts.flatMap((draft) => {
    const routes = draft.routes.map((route) => {
      const server = serverOf(route.doc);
      if (!server || !isRecord(server["members"])) return route;
      const members = Object.entries(server["members"]);
      const isOwn = (key: string): boolean => key.startsWith(`${ownerOf(owner, draft.namespace)}/`);
      const served = members.filter(([, name]) => {
        const key = keyOf(String(name), owner, draft.namespace);
        return !isOwn(key) || servers.has(key);
      });
      if (served.length === members.length) return route;
      const missing = members.filter((member) => !served.includes(member)).map(([prefix]) => prefix);
      const what = `names no MCP server route that is served: ${missing.map(quote).join(", ")}`;
      const isEmpty = served.length === 0 && server["members_by_label"] === undefined;
      report(draft.key, isEmpty ? ingressError(ANNOTATION, what) : ingressWarning(ANNOTATION, what));
      const starts = Object.entries(isRecord(server["resource_prefixes"]) ? server["resource_prefixes"] : {});
      const own = {
        ...server,
        members: Object.fromEntries(served),
        resource_prefixes: Object.fromEntries(starts.filter(([, prefix]) => !missing.includes(String(prefix)))),
      };
      return isEmpty ? undefined : { ...route, doc: { ...route.doc, mcp: { server: own } } };
    });
    return routes.includes(undefined)
      ? []
      : [
          routes.every((route, at) => route === draft.routes[at])
            ? draft
            : { ...draft, routes: routes as IngressDraft["routes"] },
        ];
  });
}

function keyOf(name: string, owner: string, namespace: string): string {
  return name.includes("/") ? name : `${ownerOf(owner, namespace)}/${name}`;
}

function serverOf(doc: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const { mcp } = doc;
  const server = isRecord(mcp) ? mcp["server"] : undefined;
  return isRecord(server) ? server : undefined;
}
