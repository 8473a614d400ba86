/**
 * A Kubernetes API server in this process, as far as a controller can notice: lists in pages, watches with versions,
 * bookmarks and 410 Gone after compaction, 409 for stale and repeated writes, the status subresource, tokens and missing
 * permissions. It rejects what a real one rejects. Methods cause failures.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import {
  applyMergePatch,
  isOfGatewayApi,
  readCollection,
  readGroup,
  refusal,
  type KubeCollection,
  type StoredObject,
} from "./kube-objects.ts";

export type { StoredObject } from "./kube-objects.ts";

export interface SeenRequest {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface KubeApi {
  /** For createKubeClient. */
  readonly kubeconfig: string;
  readonly token: string;
  readonly seen: readonly SeenRequest[];
  /** Creates or replaces an object like kubectl; kind, namespace and name are in the object. */
  apply(object: object): StoredObject;
  /** Removes it. */
  remove(collection: string, namespace: string, name: string): void;
  /** "ingresses" → all objects of the collection. */
  objects(collection: string): readonly StoredObject[];
  /** Sends a bookmark on every open watch. */
  bookmark(): void;
  /** Forgets all versions but the newest: older watches and pages are Gone. */
  compact(): void;
  /** Open watches. */
  watches(): number;
  /** Breaks open watches in the middle of a line. */
  cutWatches(): void;
  /** Writes these bytes on open watches. */
  garble(text: string): void;
  /** Open watches get nothing from now on, not even an end. */
  silence(): void;
  /** Answers the next matching requests with this status instead. */
  fail(times: number, status: number, matches?: (request: SeenRequest) => boolean): void;
  /** Rejects creations in this namespace. */
  terminate(namespace: string): void;
  /** No rights for matching requests until lifted. @returns lift */
  forbid(matches: (request: SeenRequest) => boolean): () => void;
  /** Called before a matching write is handled, once: for races. */
  beforeNextWrite(matches: (request: SeenRequest) => boolean, action: () => void): void;
  /** Resolves once a request came for which this holds, also in the past. */
  saw(matches: (request: SeenRequest) => boolean): Promise<void>;
  /** Resolves when the condition is met; it is checked after each request and change. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

interface Watch {
  readonly collection: KubeCollection;
  readonly query: URLSearchParams;
  readonly response: ServerResponse;
  silent: boolean;
}

const KIND_COLLECTIONS: Readonly<Record<string, string>> = {
  Ingress: "ingresses",
  IngressClass: "ingressclasses",
  Service: "services",
  EndpointSlice: "endpointslices",
  Secret: "secrets",
  Lease: "leases",
  Event: "events",
  Namespace: "namespaces",
  ConfigMap: "configmaps",
  GatewayClass: "gatewayclasses",
  Gateway: "gateways",
  HTTPRoute: "httproutes",
  GRPCRoute: "grpcroutes",
  ReferenceGrant: "referencegrants",
  BackendTLSPolicy: "backendtlspolicies",
  GatewayRoutePolicy: "gatewayroutepolicies",
};

export async function startKubeApi(): Promise<KubeApi> {
  const token = randomUUID();
  const stores = new Map<string, Map<string, StoredObject>>();
  const history: { collection: string; type: string; object: StoredObject; version: number }[] = [];
  const watches = new Set<Watch>();
  const seen: SeenRequest[] = [];
  const failures: { left: number; status: number; matches: (request: SeenRequest) => boolean }[] = [];
  const forbidden = new Set<(request: SeenRequest) => boolean>();
  const ending = new Set<string>();
  const races: { matches: (request: SeenRequest) => boolean; action: () => void }[] = [];
  const waiting = new Set<() => void>();
  let hasGatewayApi = false;
  let version = 1000;
  let oldest = 1000;

  const server = createServer((request, response) => {
    void answer(request, response).finally(look);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", origin);
    const method = request.method ?? "GET";
    const one: SeenRequest = { method, path: url.pathname, query: url.searchParams };
    const body = await readBody(request);
    seen.push(one);
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, 401, refusal(401, "Unauthorized"));
    const failure = failures.find((each) => each.left > 0 && each.matches(one));
    if (failure) {
      failure.left--;
      return send(response, failure.status, refusal(failure.status, "InternalError"));
    }
    if ([...forbidden].some((matches) => matches(one)))
      return send(
        response,
        403,
        refusal(403, "Forbidden", 'Forbidden (test): User "test" cannot get resource "things"'),
      );
    const names = hasGatewayApi ? readGroup(url.pathname) : undefined;
    if (names) {
      const resources = names.map((name) => ({ name }));
      return send(response, 200, { kind: "APIResourceList", apiVersion: "v1", resources });
    }
    const target = readCollection(url.pathname);
    if (!target || (isOfGatewayApi(target.collection) && !hasGatewayApi))
      return send(response, 404, refusal(404, "NotFound"));
    const race = method === "GET" ? -1 : races.findIndex(({ matches }) => matches(one));
    if (race !== -1) races.splice(race, 1)[0]?.action();
    if (target.name === undefined && method === "GET") {
      return one.query.get("watch") === "true" ? watch(target, one, response) : list(target, one, response);
    }
    const [status, result] = single(
      target,
      method,
      body,
      one.query.get("fieldManager"),
      request.headers["content-type"],
    );
    return send(response, status, result);
  }

  function list(target: KubeCollection, { query }: SeenRequest, response: ServerResponse): void {
    const limit = Number(query.get("limit") ?? 0);
    const [at = version, offset = 0] = (query.get("continue") ?? "").split(":").filter(Boolean).map(Number);
    // The rest of a list that started before the compaction is gone.
    if (query.has("continue") && at < oldest) return send(response, 410, refusal(410, "Expired"));
    const all = [...storeOf(target.collection).values()].filter((object) => isIn(target, query, object));
    const page = limit > 0 ? all.slice(offset, offset + limit) : all;
    const rest = all.length - offset - page.length;
    const next = rest > 0 ? { continue: `${at}:${offset + page.length}`, remainingItemCount: rest } : {};
    return send(response, 200, {
      kind: "List",
      apiVersion: "v1",
      metadata: { resourceVersion: String(at), ...next },
      items: page,
    });
  }

  function watch(collection: KubeCollection, { query }: SeenRequest, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const from = Number(query.get("resourceVersion") ?? 0);
    if (from < oldest) {
      // As the real one: status 200, then the error as an event.
      response.end(`${JSON.stringify({ type: "ERROR", object: refusal(410, "Expired") })}\n`);
      return;
    }
    const one: Watch = { collection, query, response, silent: false };
    for (const event of history) if (event.version > from) tell(one, event);
    watches.add(one);
    const seconds = Number(query.get("timeoutSeconds") ?? 0);
    const timer = seconds > 0 ? setTimeout(() => one.silent || response.end(), seconds * 1000) : undefined;
    response.once("close", () => {
      clearTimeout(timer);
      watches.delete(one);
      look();
    });
  }

  function single(
    target: KubeCollection,
    method: string,
    body: string,
    manager: string | null,
    type: string | undefined,
  ): readonly [number, object] {
    const store = storeOf(target.collection);
    const key = `${target.namespace ?? ""}/${target.name ?? ""}`;
    const current = store.get(key);
    if (method === "POST" && target.name === undefined) {
      const made = JSON.parse(body) as StoredObject;
      if (made.metadata.namespace !== target.namespace) return [400, refusal(400, "BadRequest")];
      if (ending.has(target.namespace ?? "")) {
        const why = `unable to create new content in namespace ${target.namespace} because it is being terminated`;
        return [403, refusal(403, "Forbidden", `${target.collection} "x" is forbidden: ${why}`)];
      }
      if (store.has(`${target.namespace ?? ""}/${made.metadata.name}`)) return [409, refusal(409, "AlreadyExists")];
      return [201, write(target.collection, made)];
    }
    if (!current) return [404, refusal(404, "NotFound")];
    switch (method) {
      case "GET":
        return [200, current];
      case "PUT": {
        const sent = JSON.parse(body) as StoredObject;
        const { resourceVersion, uid, name } = sent.metadata;
        if (name !== target.name || (uid !== undefined && uid !== current.metadata.uid))
          return [409, refusal(409, "Conflict")];
        if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion) {
          return [409, refusal(409, "Conflict")];
        }
        // Each of the two writes only its own half.
        const next = target.status
          ? { ...current, status: sent["status"] }
          : { ...sent, ...(current["status"] !== undefined && { status: current["status"] }) };
        return [
          200,
          write(target.collection, {
            ...next,
            metadata: {
              ...current.metadata,
              // The last writer of the status is stored, and replaces the previous one.
              ...(target.status
                ? { managedFields: [{ manager: manager ?? "unknown", operation: "Update", subresource: "status" }] }
                : sent.metadata),
            },
          }),
        ];
      }
      case "PATCH":
        if (type !== "application/merge-patch+json") return [415, refusal(415, "UnsupportedMediaType")];
        return [200, write(target.collection, applyMergePatch(current, JSON.parse(body) as object))];
      default:
        return [405, refusal(405, "MethodNotAllowed")];
    }
  }

  function write(collection: string, object: object): StoredObject {
    const { metadata, ...rest } = object as StoredObject;
    const store = storeOf(collection);
    const key = `${metadata.namespace ?? ""}/${metadata.name}`;
    const current = store.get(key);
    version += 1;
    const stored: StoredObject = {
      ...rest,
      metadata: {
        ...metadata,
        ...(isOfGatewayApi(collection) && { generation: generationOf(current, object as StoredObject) }),
        uid: current?.metadata.uid ?? randomUUID(),
        creationTimestamp:
          current?.metadata.creationTimestamp ?? metadata.creationTimestamp ?? new Date().toISOString(),
        resourceVersion: String(version),
      },
    };
    store.set(key, stored);
    record(collection, current ? "MODIFIED" : "ADDED", stored);
    return stored;
  }

  function record(collection: string, type: string, object: StoredObject): void {
    const event = { collection, type, object, version };
    history.push(event);
    for (const one of watches) tell(one, event);
    look();
  }

  function tell(one: Watch, event: { collection: string; type: string; object: StoredObject }): void {
    if (one.silent || event.collection !== one.collection.collection || !isIn(one.collection, one.query, event.object))
      return;
    one.response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`);
  }

  function storeOf(collection: string): Map<string, StoredObject> {
    const store = stores.get(collection) ?? new Map<string, StoredObject>();
    stores.set(collection, store);
    return store;
  }

  function look(): void {
    for (const check of waiting) check();
  }

  function until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  }

  return {
    // The client sends tokens over plain HTTP only with this setting.
    kubeconfig: JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: origin, "insecure-skip-tls-verify": true } }],
      users: [{ name: "test", user: { token } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    }),
    token,
    seen,
    apply(object) {
      const { kind = "" } = object as StoredObject;
      const collection = KIND_COLLECTIONS[kind];
      if (collection === undefined) throw new Error(`Cannot apply a "${kind}"`);
      // As kubectl does it, after the definitions.
      if (isOfGatewayApi(collection)) hasGatewayApi = true;
      return write(collection, structuredClone(object));
    },
    remove(collection, namespace, name) {
      const store = storeOf(collection);
      const object = store.get(`${namespace}/${name}`);
      if (!object) throw new Error(`Cannot remove ${collection} ${namespace}/${name}: it is not there`);
      store.delete(`${namespace}/${name}`);
      version += 1;
      record(collection, "DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    },
    objects: (collection) => [...storeOf(collection).values()],
    bookmark() {
      for (const one of watches) {
        if (one.silent || one.query.get("allowWatchBookmarks") !== "true") continue;
        one.response.write(
          `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(version) } } })}\n`,
        );
      }
    },
    compact() {
      oldest = version;
      history.length = 0;
    },
    watches: () => watches.size,
    cutWatches() {
      for (const one of watches) one.response.write('{"type":"MODIFIED","obj', () => one.response.destroy());
    },
    garble(text) {
      for (const one of watches) one.response.write(text);
    },
    silence() {
      for (const one of watches) one.silent = true;
    },
    fail(times, status, matches = () => true) {
      failures.push({ left: times, status, matches });
    },
    terminate: (namespace) => void ending.add(namespace),
    forbid(matches) {
      forbidden.add(matches);
      return () => forbidden.delete(matches);
    },
    beforeNextWrite: (matches, action) => void races.push({ matches, action }),
    saw: (matches) => until(() => seen.some((each) => matches(each))),
    until,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Changes of the status keep it. */
function generationOf(current: StoredObject | undefined, next: StoredObject): number {
  const before = (current?.metadata as { readonly generation?: number } | undefined)?.generation ?? 0;
  return current && JSON.stringify(current["spec"]) === JSON.stringify(next["spec"]) ? before : before + 1;
}

function isIn(target: KubeCollection, query: URLSearchParams, { metadata }: StoredObject): boolean {
  if (target.namespace !== undefined && metadata.namespace !== target.namespace) return false;
  const selector = query.get("fieldSelector");
  if (selector === null) return true;
  const name = /^metadata\.name=(.+)$/.exec(selector)?.[1];
  if (name === undefined) throw new Error(`Cannot select by ${selector}`);
  return metadata.name === name;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}
