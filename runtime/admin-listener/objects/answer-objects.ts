/**
 * The admin API: the responses at each of its addresses.
 *
 * Untrusted input: path, query, body and headers; the caller has `admin_token`, or gets 403. Promises: all input is
 * bounded and unambiguous, or it is rejected. A page has at most 200 objects. No cookie is read. A change has an
 * Idempotency-Key and a reason, and leaves a record as in the console. Actions that need an approver or a user's
 * sign-in are not available here.
 */
import type { AdminAction } from "../../audit/action-record.ts";
import { emailsFor, rowOf, wordsOf, type Asked, type Kind, type KindDeps } from "../../administration/kind.ts";
import { KINDS } from "../../administration/kinds.ts";
import { GatewayError } from "../../shared/errors.ts";
import { parseQuery } from "../../shared/http/query.ts";
import { parseExactJson } from "../../shared/json/exact-json.ts";
import { json, type AdminRequest, type AdminReply } from "../answer.ts";
import { callerOf, outsideScope } from "../publish-scope.ts";
import { API, BOUNDS } from "./bounds.ts";
import { answerOnce, readIdempotencyKey } from "./idempotency.ts";
import { openApi } from "./openapi.ts";

export interface ObjectsDeps extends KindDeps {
  /** For the audit; absent: not recorded. */
  readonly record?: ((action: AdminAction) => void | Promise<void>) | undefined;
}

const RETRY = { "retry-after": "1" };

export async function answerObjects(deps: ObjectsDeps, request: AdminRequest): Promise<AdminReply> {
  // The listener has checked this already; a second check costs nothing.
  if (request.scope) return outsideScope(request.scope);
  try {
    return await route(deps, request);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return json(503, { error: error.code, message: "the gateway cannot do this at the moment, try again" }, RETRY);
  }
}

async function route(deps: ObjectsDeps, request: AdminRequest): Promise<AdminReply> {
  const { path, method } = request;
  const isRead = method === "GET" || method === "HEAD";
  const [name = "", ...below] = partsOf(path) ?? [];
  if (name === "openapi.json" && below.length === 0)
    return isRead ? json(200, openApi(KINDS)) : notAllowed("GET, HEAD");
  const kind = KINDS.find(({ plural }) => plural === name);
  const [id, verb] = below;
  if (!kind || below.length > 2) return json(404, { error: "path" });
  if (id === undefined) {
    if (isRead) return list(deps, kind, request);
    if (!kind.creation) return notAllowed("GET, HEAD");
    return method === "POST" ? make(deps, kind, kind.creation, request) : notAllowed("GET, HEAD, POST");
  }
  if (verb === undefined) return isRead ? show(deps, kind, id, request) : notAllowed("GET, HEAD");
  const action = kind.actions.find((each) => each.path === verb && each.role === "operator");
  if (!action) return json(404, { error: "path" });
  return method === "POST" ? act(deps, kind, action, id, request) : notAllowed("POST");
}

/** @returns undefined for a path with an empty part, and for one that is too long or not text */
function partsOf(path: string): readonly string[] | undefined {
  if (path.length > BOUNDS.pathCharacters) return undefined;
  const parts: string[] = [];
  for (const part of path.slice(API.length + 1).split("/")) {
    try {
      parts.push(decodeURIComponent(part));
    } catch {
      return undefined;
    }
  }
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  const isText = (part: string): boolean => part !== "" && !/[\x00-\x1f\x7f]/.test(part) && part.isWellFormed();
  return parts.every((part) => isText(part) && Buffer.byteLength(part) <= BOUNDS.idBytes) ? parts : undefined;
}

async function list(deps: ObjectsDeps, kind: Kind, request: AdminRequest): Promise<AdminReply> {
  const query = parseQuery(request.query ?? "");
  const values = query.ok ? query.values : new Map<string, string>();
  const limit = values.get("limit") ?? String(BOUNDS.defaultLimit);
  const after = values.get("cursor");
  const filters = new Map([...values].filter(([name]) => kind.filters.includes(name)));
  const isKnown = [...values.keys()].every((name) => name === "limit" || name === "cursor" || filters.has(name));
  if (!query.ok || !isKnown) {
    const known = ["limit", "cursor", ...kind.filters].join(", ");
    return json(400, { error: "query", message: `the query may have ${known}, each once` });
  }
  if (!/^[1-9][0-9]{0,2}$/.test(limit) || Number(limit) > BOUNDS.limit)
    return json(400, { error: "query", message: `"limit" must be 1 to ${BOUNDS.limit}` });
  if (after !== undefined && !isPlace(kind, after))
    return json(400, { error: "query", message: '"cursor" must be "next" of the previous page' });
  for (const [filter, value] of filters)
    if (!isFilter(kind, filter, value))
      return json(400, { error: "query", message: `"${filter}" has an invalid value` });
  const { found, next } = await kind.page(deps, { after, limit: Number(limit), filters });
  return json(200, { items: await described(deps, kind, found), ...(next !== undefined && { next }) });
}

function isPlace({ isPlace: isOne }: Kind, after: string): boolean {
  return Buffer.byteLength(after) <= BOUNDS.idBytes && after.isWellFormed() && !after.includes("\0") && isOne(after);
}

function isFilter({ fields }: Kind, filter: string, value: string): boolean {
  const values = fields.find(({ name }) => name === filter)?.values;
  const isText = value !== "" && value.isWellFormed() && !value.includes("\0");
  return values?.includes(value) ?? (isText && Buffer.byteLength(value) <= BOUNDS.idBytes);
}

async function show(deps: ObjectsDeps, kind: Kind, id: string, request: AdminRequest): Promise<AdminReply> {
  if ((request.query ?? "") !== "") return noQuery();
  const thing = await kind.find(deps, id);
  const [object] = thing ? await described(deps, kind, [thing]) : [];
  return object ? json(200, object) : absent(kind);
}

async function make(
  deps: ObjectsDeps,
  kind: Kind,
  creation: NonNullable<Kind["creation"]>,
  request: AdminRequest,
): Promise<AdminReply> {
  const inputs = new Map(creation.inputs.map((input) => [input.name, input]));
  return change(deps, kind, request, inputs, async (values, asked) => {
    const { ids } = await creation.run(deps, values, asked);
    const things = await Promise.all(ids.map((id) => kind.find(deps, id)));
    const items = await described(
      deps,
      kind,
      things.filter((thing) => thing !== undefined),
    );
    return json(201, { items });
  });
}

async function act(
  deps: ObjectsDeps,
  kind: Kind,
  action: Kind["actions"][number],
  id: string,
  request: AdminRequest,
): Promise<AdminReply> {
  return change(deps, kind, request, new Map(), async (_, asked) => {
    const thing = await kind.find(deps, id);
    if (!thing || (await action.run(deps, thing, asked)) === undefined) return absent(kind);
    return json(200, { id, done: action.path });
  });
}

type Inputs = ReadonlyMap<string, { readonly isRequired?: boolean; readonly values?: readonly string[] }>;

/** The common part of all changes: the key, the body with its reason, and one response for each key. */
async function change(
  { store, clock, log, record }: ObjectsDeps,
  { wrong }: Kind,
  request: AdminRequest,
  inputs: Inputs,
  run: (values: ReadonlyMap<string, string>, asked: Asked) => Promise<AdminReply>,
): Promise<AdminReply> {
  const { headers, method, path, query = "", token = "" } = request;
  if (query !== "") return noQuery();
  if (!/^application\/json(?: *; *charset="?utf-8"?)?$/i.test(headers["content-type"] ?? ""))
    return json(415, { error: "media-type", message: "the body must be application/json" });
  const key = readIdempotencyKey(headers["idempotency-key"]);
  if (key === undefined)
    return json(400, {
      error: "idempotency-key",
      message: 'Idempotency-Key must be 1 to 128 letters, digits, ".", "_", "~", ":" or "-"',
    });
  const body = await request.readBody(BOUNDS.bodyBytes);
  if (!body) return json(413, { error: "too-large", message: `the body must have at most ${BOUNDS.bodyBytes} bytes` });
  const values = readValues(body, inputs);
  if (typeof values === "string") return json(400, { error: "body", message: values });
  const reason = values.get("reason") ?? "";
  const { by } = callerOf(request);
  const asked: Asked = {
    by,
    reason,
    record(action) {
      // Also without an audit.
      log.info({ action: action.action, target: action.target, by, reason }, "changed through the admin API");
      return record?.({ ...action, reason, by });
    },
  };
  const what = [method, path, [...values].toSorted(([a], [b]) => (a < b ? -1 : 1))];
  return answerOnce({ store, clock }, { caller: token, key, what }, async () => {
    try {
      return await run(values, asked);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== wrong) throw error;
      return json(400, { error: "body", message: error.message });
    }
  });
}

/** @returns the problem, as a sentence without its end, when the body cannot be read */
function readValues(body: Buffer, inputs: Inputs): ReadonlyMap<string, string> | string {
  const names = [...inputs.keys(), "reason"];
  const expected = `the body must be a JSON object with texts for ${names.map((name) => `"${name}"`).join(", ")}`;
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let read: unknown;
  try {
    read = parseExactJson(text.decode(body), { values: 64 });
  } catch {
    return "the body is not UTF-8 text";
  }
  if (!(read instanceof Map)) return expected;
  const values = new Map<string, string>();
  for (const [name, value] of read as ReadonlyMap<string, unknown>) {
    if (!names.includes(name) || typeof value !== "string" || !value.isWellFormed()) return expected;
    const most = name === "reason" ? BOUNDS.reasonCharacters : BOUNDS.valueCharacters;
    if (value.length > most) return `"${name}" must have at most ${most} characters`;
    values.set(name, value);
  }
  if ((values.get("reason") ?? "").trim() === "") return '"reason" is missing, must be given for the record';
  for (const [name, { isRequired, values: allowed }] of inputs) {
    const value = values.get(name);
    if (isRequired === true && value === undefined) return `"${name}" is missing`;
    if (allowed && value !== undefined && !allowed.includes(value))
      return `"${name}" must be one of ${allowed.join(", ")}`;
  }
  return values;
}

/** Form of objects in the API: without empty members. */
async function described(
  { store }: ObjectsDeps,
  kind: Kind,
  things: readonly object[],
): Promise<readonly Readonly<Record<string, string>>[]> {
  const emails = await emailsFor(kind, store, things);
  return things.map((thing) => {
    const members = Object.entries(rowOf(kind, thing, emails)).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, value] as const],
    );
    return Object.fromEntries([["id", kind.idOf(thing)], ...members]);
  });
}

function absent(kind: Kind): AdminReply {
  return json(404, { error: "absent", message: `there is no such ${wordsOf(kind)}` });
}

function noQuery(): AdminReply {
  return json(400, { error: "query", message: "this address accepts no query" });
}

function notAllowed(allow: string): AdminReply {
  return json(405, { error: "method" }, { allow });
}
