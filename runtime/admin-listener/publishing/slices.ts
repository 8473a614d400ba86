/**
 * Publishing over http: `/config/slices` (all, or several in one step), `/config/slices/<owner>`,
 * `/config/slices/<owner>/validate`, `/config/rollback`.
 *
 * Untrusted input: bodies, written by teams. The admin token can publish for any owner, an owner's token for that owner
 * (publish-scope.ts); the content of a slice is validated (bundle/validation/validate-candidates.ts). Promises: no
 * change without a precondition on the state that the publisher expects; a response 200 means active in every live
 * process, 202 names the others.
 *
 * @see RFC 9110 §13.1 (If-Match, If-None-Match), RFC 6585 §3 (428)
 */
import { CLAIM, isOwner } from "../../features/process/owners.ts";
import { GatewayError } from "../../shared/errors.ts";
import { claimOn, currentSlices, type Expected, withoutAuthors } from "../../bundle/publication.ts";
import type { Publisher } from "../../bundle/publisher.ts";
import type { Validator } from "../../bundle/validation/validator.ts";
import { callerOf, outsideScope, scopedLaggards, scopedOutcome } from "../publish-scope.ts";
import { json, type AdminEndpoint, type AdminRequest, type AdminReply, type PublishScope } from "../answer.ts";
import { answerOutcome, answerValidated, invalid } from "./answers.ts";
import { isRecord } from "../../shared/is-record.ts";

/** For several owners: about 80,000 routes. */
const MAX_CHANGES_BYTES = 64 * 1024 * 1024;
/** About 20,000 routes. */
const MAX_SLICE_BYTES = 16 * 1024 * 1024;
const MAX_ROLLBACK_BYTES = 4096;
const SLICES = "/config/slices";
const ROLLBACK = "/config/rollback";
/** After the owner's name. Older gateways respond with 403 or 404 and change nothing. */
const VALIDATE = "/validate";

/** Parses bodies off the event loop: a slice may have thousands of routes. */
type Parsing = Pick<Validator, "parse" | "parseChanges">;

export function sliceEndpoint(publisher: Publisher, parsing: Parsing): AdminEndpoint {
  return {
    anyHost: true,
    forOwners: true,
    handles: (path) => path === SLICES || path.startsWith(`${SLICES}/`) || path === ROLLBACK,
    async answer(request) {
      const claim = request.headers["gateway-claim"];
      if (claim !== undefined && !(typeof claim === "string" && CLAIM.test(claim)))
        return json(400, { error: "claim", message: 'Gateway-Claim must be 1 to 64 letters, digits, "_" or "-"' });
      try {
        if (request.path === SLICES) return await allSlices(request, publisher, parsing);
        if (request.path === ROLLBACK && request.scope) return outsideScope(request.scope);
        if (request.path === ROLLBACK) return await rollback(request, publisher);
        const name = request.path.slice(SLICES.length + 1);
        if (name.endsWith(VALIDATE)) return await tryOut(request, name.slice(0, -VALIDATE.length), publisher, parsing);
        return await oneSlice(request, name, publisher, parsing);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        // The store or the validating thread failed: nothing was decided about the request itself.
        const message = request.scope ? "the gateway cannot do this at the moment, try again" : error.message;
        return json(503, { error: error.code, message }, { "retry-after": "1" });
      }
    },
  };
}

async function allSlices(request: AdminRequest, publisher: Publisher, parsing: Parsing): Promise<AdminReply> {
  switch (request.method) {
    case "GET":
    case "HEAD":
      return listSlices(publisher, request.scope);
    case "POST":
      return changeSlices(request, publisher, parsing);
    default:
      return notAllowed("GET, HEAD, POST");
  }
}

async function listSlices(publisher: Publisher, scope: PublishScope | undefined): Promise<AdminReply> {
  const publication = await publisher.publication();
  const isShown = ({ owner }: { readonly owner: string }): boolean => !scope || scope.covers(owner);
  const slices = currentSlices(publication).filter(isShown);
  const owners = slices.map(({ owner }) => owner);
  const live = await publisher.liveness(publication.generation, owners);
  return json(200, {
    store: publication.id,
    generation: publication.generation,
    slices,
    history: publication.owners.filter(isShown).map(withoutAuthors),
    ...live,
    ...(scope && { laggards: scopedLaggards(live.laggards) }),
  });
}

async function changeSlices(request: AdminRequest, publisher: Publisher, parsing: Parsing): Promise<AdminReply> {
  const { scope } = request;
  const most = scope ? MAX_SLICE_BYTES : MAX_CHANGES_BYTES;
  const body = await request.readBody(most);
  if (!body) return json(413, { error: "too-large", message: `changes must have at most ${most} bytes` });
  const text = decodeUtf8(body);
  if (text === undefined) return unreadable("the body is not UTF-8 text");
  const read = await parsing.parseChanges(text, scope?.entry);
  if (!read.ok) return json(400, { error: "body", message: read.message });
  if (scope && !read.changes.every(({ owner }) => scope.covers(owner))) return outsideScope(scope);
  const outcome = await publisher.publishAll(read.changes, callerOf(request));
  const owners = new Set(read.changes.map(({ owner }) => owner));
  return answerOutcome(undefined, scope ? scopedOutcome(outcome, scope) : outcome, owners);
}

async function oneSlice(
  request: AdminRequest,
  owner: string,
  publisher: Publisher,
  parsing: Parsing,
): Promise<AdminReply> {
  const { scope } = request;
  if (scope && !scope.covers(owner)) return outsideScope(scope);
  if (!isOwner(owner)) return notAnOwner(owner);
  switch (request.method) {
    case "GET":
    case "HEAD":
      return readSlice(owner, publisher);
    case "PUT":
      return putSlice(request, owner, publisher, parsing);
    case "DELETE":
      return removeSlice(request, owner, publisher);
    default:
      return notAllowed("GET, HEAD, PUT, DELETE");
  }
}

async function readSlice(owner: string, publisher: Publisher): Promise<AdminReply> {
  const slice = await publisher.get(owner);
  const publication = await publisher.publication();
  // Distinguishes gateways, whatever host name was used.
  const store = { "gateway-store": publication.id };
  if (!slice) return json(404, { error: "absent", message: `owner "${owner}" has published no slice` }, store);
  const { laggards } = await publisher.liveness(slice.generation, [owner]);
  const claim = claimOn(publication, owner);
  return {
    status: 200,
    type: "application/json",
    body: slice.text,
    headers: {
      ...store,
      etag: `"${slice.digest}"`,
      ...(claim !== undefined && { "gateway-claim": claim }),
      "gateway-generation": String(slice.generation),
      "gateway-live": laggards.length === 0 ? "true" : "false",
      "last-modified": new Date(slice.at * 1000).toUTCString(),
    },
  };
}

async function putSlice(
  request: AdminRequest,
  owner: string,
  publisher: Publisher,
  parsing: Parsing,
): Promise<AdminReply> {
  const expected = preconditionOf(request, "PUT");
  if ("status" in expected) return expected;
  const slice = await readSent(request, owner, parsing);
  if ("status" in slice) return slice;
  const outcome = await publisher.publish(owner, slice, expected, callerOf(request));
  return answerOutcome(owner, request.scope ? scopedOutcome(outcome, request.scope) : outcome);
}

/** The slice in a request's body, or the response to an invalid one. */
async function readSent(
  request: AdminRequest,
  owner: string,
  parsing: Parsing,
): Promise<{ readonly text: string; readonly digest: string } | AdminReply> {
  const body = await request.readBody(MAX_SLICE_BYTES);
  if (!body) return json(413, { error: "too-large", message: `a slice must have at most ${MAX_SLICE_BYTES} bytes` });
  const text = decodeUtf8(body);
  if (text === undefined) return unreadable("the body is not UTF-8 text");
  const slice = await parsing.parse(text, owner);
  if (slice.ok) return { text, digest: slice.digest };
  return "problems" in slice ? invalid(owner, slice.problems) : unreadable(slice.message);
}

/** Runs all steps of a PUT except storing it. */
async function tryOut(
  request: AdminRequest,
  owner: string,
  publisher: Publisher,
  parsing: Parsing,
): Promise<AdminReply> {
  const { scope } = request;
  if (scope && !scope.covers(owner)) return outsideScope(scope);
  if (!isOwner(owner)) return notAnOwner(owner);
  if (request.method !== "POST") return notAllowed("POST");
  const slice = await readSent(request, owner, parsing);
  if ("status" in slice) return slice;
  const outcome = await publisher.validate(owner, slice);
  return answerValidated(owner, slice.digest, scope ? scopedOutcome(outcome, scope) : outcome);
}

async function removeSlice(request: AdminRequest, owner: string, publisher: Publisher): Promise<AdminReply> {
  const expected = preconditionOf(request, "DELETE");
  if ("status" in expected) return expected;
  const outcome = await publisher.publish(owner, null, expected, callerOf(request));
  return answerOutcome(owner, request.scope ? scopedOutcome(outcome, request.scope) : outcome);
}

async function rollback(request: AdminRequest, publisher: Publisher): Promise<AdminReply> {
  if (request.method !== "POST") return notAllowed("POST");
  const body = await request.readBody(MAX_ROLLBACK_BYTES);
  const rollback = body && readRollbackRequest(body);
  if (!rollback) {
    return json(400, { error: "body", message: 'the body must be JSON such as {"owner": "team", "to": 12} or {}' });
  }
  return answerOutcome(rollback.owner, await publisher.rollback(rollback, callerOf(request)));
}

function readRollbackRequest(body: Buffer): { owner?: string | undefined; to?: number | undefined } | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (!isRecord(value)) return undefined;
    const { owner, to, ...rest } = value;
    if (Object.keys(rest).length > 0 || (owner !== undefined && typeof owner !== "string")) return undefined;
    return to === undefined || typeof to === "number" ? { owner, to } : undefined;
  } catch {
    return undefined;
  }
}

/** State that the publisher expects; without it, changes of others could be overwritten unnoticed. */
function preconditionOf({ headers }: AdminRequest, method: "PUT" | "DELETE"): Expected | AdminReply {
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
  const message = `a precondition is missing: send If-Match with the ETag of the slice${first}, or If-Match: * to replace any version`;
  return json(428, { error: "precondition", message });
}

/** Strict: a wrong byte inside a host or tool name must not silently become another name. */
function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function unreadable(message: string): AdminReply {
  return json(422, { error: "invalid", message, problems: [] });
}

function notAnOwner(owner: string): AdminReply {
  return json(404, { error: "owner", message: `"${owner}" is not a valid owner name` });
}

function notAllowed(allow: string): AdminReply {
  return json(405, { error: "method" }, { allow });
}
