/** Messages between a client and a member that speak different revisions: sessions (until 2025-11-25) or none (from 2026-07-28). */
import { VERSION } from "../../shared/version.ts";
import { CLIENT_CAPABILITIES, META_CLIENT, PROTOCOL_VERSION } from "../members.ts";
import { MODERN_FROM } from "../mirrors.ts";
import { recordOf, type MessageJson } from "./json.ts";

export const MODERN = MODERN_FROM;
export const LEGACY = "2025-11-25";
/** Revisions with sessions, newest first. */
export const LEGACY_VERSIONS: readonly string[] = [LEGACY, "2025-06-18", "2025-03-26"];

/** Members of `_meta` that belong to one hop. */
const OF_HOP = "io.modelcontextprotocol/";

/** Name of the gateway, for members. */
export const CLIENT_INFO = { name: "gateform", version: VERSION };

/** The client's capabilities for a modern member, as far as this endpoint passes them on. */
export interface ClientSide {
  readonly isModern: boolean;
  readonly capabilities: MessageJson;
}

/** @param request of the client @returns the same request for a member of this era */
export function requestFor(request: MessageJson, memberIsModern: boolean, client: ClientSide): MessageJson {
  const params = recordOf(request["params"]);
  const meta = ownMembers(recordOf(params["_meta"]));
  if (memberIsModern) {
    meta[PROTOCOL_VERSION] = MODERN;
    meta[META_CLIENT] = CLIENT_INFO;
    meta[CLIENT_CAPABILITIES] = client.capabilities;
  }
  // Members of the later revision make tasks unasked, for clients that declare it.
  const { _meta: _, task, ...others } = params;
  const rest = task === undefined || (memberIsModern && !client.isModern) ? others : { ...others, task };
  const isEmpty = Object.keys(meta).length === 0;
  const hasParams = request["params"] !== undefined || !isEmpty;
  return { ...request, ...(hasParams && { params: { ...rest, ...(isEmpty ? {} : { _meta: meta }) } }) };
}

/** @param result of a member @returns the same result for a client of this era */
export function resultFor(method: unknown, result: MessageJson, clientIsModern: boolean): MessageJson {
  const { resultType, ttlMs, cacheScope, _meta, ...rest } = result;
  const meta = ownMembers(recordOf(_meta));
  const isCached = ttlMs !== undefined || cacheScope !== undefined || isCachedMethod(method);
  return {
    ...rest,
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
    ...(clientIsModern && { resultType: resultType ?? "complete" }),
    // Each member decides for each user: no cache may serve another one.
    ...(clientIsModern && isCached && { ttlMs: ttlMs ?? 0, cacheScope: "private" }),
  };
}

/** Results that have hints for caches from 2026-07-28 on. */
const CACHED: ReadonlySet<unknown> = new Set(["resources/read", "resources/directory/read", "skills/get"]);

export function isCachedMethod(method: unknown): boolean {
  return CACHED.has(method);
}

/** @param name of a member of `_meta` */
export function isOfHop(name: string): boolean {
  return name.startsWith(OF_HOP) && !OF_MESSAGE.has(name);
}

function ownMembers(meta: MessageJson): Record<string, unknown> {
  // Usually there are none.
  const names = Object.keys(meta).filter((name) => !isOfHop(name));
  return names.length === 0 ? {} : Object.fromEntries(names.map((name) => [name, meta[name]]));
}

/** @returns a notification of a member without what belongs to its own hop */
export function withoutHopMeta(message: MessageJson): MessageJson {
  const params = recordOf(message["params"]);
  if (params["_meta"] === undefined) return message;
  const { _meta, ...rest } = params;
  const meta = ownMembers(recordOf(_meta));
  return { ...message, params: { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) } };
}

/** Members with that prefix that belong to the message. */
const OF_MESSAGE: ReadonlySet<string> = new Set([`${OF_HOP}related-task`]);
