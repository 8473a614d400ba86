/**
 * Publishing over http: `/config/slices`, `/config/slices/<owner>`, `/config/rollback`.
 *
 * Untrusted input: bodies, which are what a team wishes for. Whoever has the admin token may publish for any owner; what
 * an owner's slice may say is judged (bundle/judge.ts). Promises: no change without the precondition that says what the
 * publisher believes to find; an answer 200 means live in every process that shows signs of life, 202 names the others.
 *
 * @see RFC 9110 §13.1 (If-Match, If-None-Match), RFC 6585 §3 (428)
 */
import { isOwner } from "../config/boot-settings.ts";
import { formatProblem, type Problem } from "../config/load.ts";
import { digestOf } from "../config/slice.ts";
import { readSource } from "../config/source.ts";
import { isMembers } from "../config/problem.ts";
import { GatewayError } from "../errors.ts";
import { publishedName } from "../bundle/judge.ts";
import { currentSlices, type CurrentSlice } from "../bundle/publication.ts";
import type { Expected, Publisher, PublishOutcome } from "../bundle/publisher.ts";
import { json, type AdminEndpoint, type AdminRequest, type Answer } from "./answer.ts";

/** Some 20,000 routes. */
const MAX_SLICE_BYTES = 16 * 1024 * 1024;
const MAX_WISH_BYTES = 4096;
const SLICES = "/config/slices";
const ROLLBACK = "/config/rollback";

export function sliceEndpoint(publisher: Publisher): AdminEndpoint {
  return {
    anyHost: true,
    handles: (path) => path === SLICES || path.startsWith(`${SLICES}/`) || path === ROLLBACK,
    async answer(request) {
      try {
        if (request.path === SLICES) return await listSlices(request, publisher);
        if (request.path === ROLLBACK) return await rollback(request, publisher);
        return await oneSlice(request, request.path.slice(SLICES.length + 1), publisher);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        // The store or the judging thread: nothing was decided about the request itself.
        return json(503, { error: error.code, message: error.message }, { "retry-after": "1" });
      }
    },
  };
}

async function listSlices({ method }: AdminRequest, publisher: Publisher): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") return notAllowed("GET, HEAD");
  const publication = await publisher.publication();
  const live = await publisher.liveness(publication.generation);
  return json(200, {
    store: publication.id,
    generation: publication.generation,
    slices: currentSlices(publication),
    history: publication.owners.map(({ owner, versions }) => ({ owner, versions })),
    ...live,
  });
}

async function oneSlice(request: AdminRequest, owner: string, publisher: Publisher): Promise<Answer> {
  if (!isOwner(owner)) return json(404, { error: "owner", message: `"${owner}" is no name of an owner` });
  switch (request.method) {
    case "GET":
    case "HEAD":
      return readSlice(owner, publisher);
    case "PUT":
      return putSlice(request, owner, publisher);
    case "DELETE":
      return removeSlice(request, owner, publisher);
    default:
      return notAllowed("GET, HEAD, PUT, DELETE");
  }
}

async function readSlice(owner: string, publisher: Publisher): Promise<Answer> {
  const slice = await publisher.get(owner);
  const { id } = await publisher.publication();
  // Tells one gateway from another one, whatever name it was asked by.
  const store = { "gateway-store": id };
  if (!slice) return json(404, { error: "absent", message: `owner "${owner}" has published no slice` }, store);
  const { laggards } = await publisher.liveness(slice.generation);
  return {
    status: 200,
    type: "application/json",
    body: slice.text,
    headers: {
      ...store,
      etag: `"${slice.digest}"`,
      "gateway-generation": String(slice.generation),
      "gateway-live": laggards.length === 0 ? "true" : "false",
      "last-modified": new Date(slice.at * 1000).toUTCString(),
    },
  };
}

async function putSlice(request: AdminRequest, owner: string, publisher: Publisher): Promise<Answer> {
  const expected = preconditionOf(request, "PUT");
  if ("status" in expected) return expected;
  const body = await request.readBody(MAX_SLICE_BYTES);
  if (!body) return json(413, { error: "too-large", message: `a slice may have ${MAX_SLICE_BYTES} bytes` });
  const slice = readSliceBody(body, owner);
  if ("status" in slice) return slice;
  return answerOutcome(owner, await publisher.publish(owner, slice, expected));
}

async function removeSlice(request: AdminRequest, owner: string, publisher: Publisher): Promise<Answer> {
  const expected = preconditionOf(request, "DELETE");
  if ("status" in expected) return expected;
  return answerOutcome(owner, await publisher.publish(owner, null, expected));
}

async function rollback(request: AdminRequest, publisher: Publisher): Promise<Answer> {
  if (request.method !== "POST") return notAllowed("POST");
  const body = await request.readBody(MAX_WISH_BYTES);
  const wish = body && readWish(body);
  if (!wish) {
    return json(400, { error: "body", message: 'the body must be JSON such as {"owner": "team", "to": 12} or {}' });
  }
  return answerOutcome(wish.owner, await publisher.rollback(wish));
}

function readWish(body: Buffer): { owner?: string | undefined; to?: number | undefined } | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (!isMembers(value)) return undefined;
    const { owner, to, ...rest } = value;
    if (Object.keys(rest).length > 0 || (owner !== undefined && typeof owner !== "string")) return undefined;
    return to === undefined || typeof to === "number" ? { owner, to } : undefined;
  } catch {
    return undefined;
  }
}

/** What the publisher believes to find; without it a change of others could be overwritten unseen. */
function preconditionOf({ headers }: AdminRequest, method: "PUT" | "DELETE"): Expected | Answer {
  const match = headers["if-match"];
  const noneMatch = headers["if-none-match"];
  if (match !== undefined && noneMatch !== undefined) {
    return json(400, { error: "precondition", message: "give If-Match or If-None-Match, not both" });
  }
  if (noneMatch === "*" && method === "PUT") return { kind: "none" };
  if (match === "*") return { kind: "some" };
  const digest = /^"([0-9a-f]{64})"$/.exec(match ?? "")?.[1];
  if (digest !== undefined) return { kind: "digest", digest };
  if (match !== undefined || noneMatch !== undefined) {
    const message = 'If-Match must be "*" or the quoted digest of the slice, If-None-Match must be "*"';
    return json(400, { error: "precondition", message });
  }
  const first = method === "PUT" ? ", or If-None-Match: * for the first slice of an owner" : "";
  const message = `say what you replace: If-Match with the ETag of the slice${first}; If-Match: * for whatever is there`;
  return json(428, { error: "precondition", message });
}

function readSliceBody(body: Buffer, owner: string): { readonly text: string; readonly digest: string } | Answer {
  const text = decodeUtf8(body);
  if (text === undefined) return unreadable("the body is not UTF-8 text");
  const { value, problems } = readSource(publishedName(owner), text);
  if (problems.length > 0) return invalid(owner, problems);
  if (!isMembers(value) || value["owner"] === undefined) {
    return unreadable('the body must be a slice: "version", "owner", "settings", "routes" by name');
  }
  if (value["owner"] !== owner) {
    return unreadable(`the slice names the owner ${JSON.stringify(value["owner"])}, the path names "${owner}"`);
  }
  return { text, digest: digestOf(value) };
}

/** Strict: a wrong byte inside a host or tool name must not silently become another name. */
function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function unreadable(message: string): Answer {
  return json(422, { error: "invalid", message, problems: [] });
}

function answerOutcome(owner: string | undefined, outcome: PublishOutcome): Answer {
  if (!outcome.ok) {
    switch (outcome.reason) {
      case "stale":
        return stale(owner ?? "", outcome.current);
      case "invalid":
        return invalid(owner, outcome.problems);
      case "no-such-generation":
        return json(409, { error: "generation", message: outcome.message });
      default:
        return outcome satisfies never;
    }
  }
  const { changed, generation, slices, warnings, replicas, laggards } = outcome;
  const live = laggards.length === 0;
  const digest = owner === undefined ? undefined : (slices.get(owner) ?? null);
  const etag: Record<string, string> = typeof digest === "string" ? { etag: `"${digest}"` } : {};
  const published = { owner, digest, slices: Object.fromEntries(slices), changed, generation };
  return json(
    live ? 200 : 202,
    { ...published, live, replicas, laggards, warnings: warnings.map((problem) => problemOf(owner, problem)) },
    etag,
  );
}

function stale(owner: string, current: CurrentSlice | undefined): Answer {
  const state = current
    ? `is now ${current.digest.slice(0, 12)}…, published as generation ${current.generation} at ${new Date(current.at * 1000).toISOString()}`
    : "is not there";
  const wish = current
    ? "somebody else changed it: look at what is published, bring it and your change together, and publish again"
    : "it was removed, or never published: publish it as a new slice";
  const message = `The slice of owner "${owner}" ${state}; ${wish}`;
  return json(412, {
    error: "changed",
    message,
    digest: current?.digest ?? null,
    generation: current?.generation ?? null,
  });
}

function invalid(owner: string | undefined, problems: readonly Problem[]): Answer {
  const lines = problems.filter(({ severity }) => severity === "error").map(formatProblem);
  const message = `The configuration would not be valid, nothing was changed:\n${lines.join("\n")}`;
  return json(422, { error: "invalid", message, problems: problems.map((problem) => problemOf(owner, problem)) });
}

/** `source` only where the problem is not in the slice that was sent. */
function problemOf(owner: string | undefined, { file, ...problem }: Problem): object {
  return owner !== undefined && file === publishedName(owner) ? problem : { ...problem, source: file };
}

function notAllowed(allow: string): Answer {
  return json(405, { error: "method" }, { allow });
}
