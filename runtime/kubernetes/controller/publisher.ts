/**
 * Destination of the controller's slices: a directory that a gateway watches (directory-publisher.ts), or a gateway's admin
 * address, with all changes in one step.
 *
 * The slices belong only to this controller, so it replaces any content; the preconditions only keep two controllers from
 * overwriting each other unnoticed. Its slices that are no longer needed are removed, as is the single slice for all
 * namespaces of earlier versions.
 */
import { isRecord } from "../../shared/is-record.ts";
import { readFile } from "node:fs/promises";

import { type Slice } from "../../config/slice.ts";
import { parsePath, type Rival } from "../../settings/problem.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { KUBERNETES_PROGRAM, userAgentOf } from "../../shared/version.ts";
import { askGateway, type GatewayAnswer, type GatewayTls } from "../../terraform/publish/ask-gateway.ts";
import { renderSlice } from "../render.ts";
import { isMadeHere, namespaceIn } from "../translate/slices.ts";
import type { SliceProblem } from "../translate/assign.ts";

/** A slice in its published form. */
export interface SliceText {
  readonly owner: string;
  /** Canonical JSON. */
  readonly text: string;
  readonly digest: string;
}

export type PublishAnswer =
  /** Active, or (directory) ready for the gateway to read. */
  | { readonly kind: "published"; readonly note?: string; readonly waiting?: readonly SliceProblem[] }
  /** None of these slices was changed; the previous ones stay active. */
  | { readonly kind: "invalid"; readonly problems: readonly SliceProblem[] };

export interface SlicePublisher {
  /** For messages. */
  readonly place: string;
  /** Replaces all slices that this controller published before. @throws GatewayError for a failure that should be retried */
  publish(slices: readonly SliceText[]): Promise<PublishAnswer>;
  /** The gateway's public key as JWK JSON; undefined if the destination has none. */
  sealKey(): Promise<string | undefined>;
}

export function sliceTexts(slices: readonly Slice[]): readonly SliceText[] {
  return slices.map((slice) => ({
    owner: slice.owner,
    text: renderSlice(slice, "json"),
    digest: digestOf(slice),
  }));
}

export interface AdminPublisherOptions {
  /** "http://127.0.0.1:9901". */
  readonly url: string;
  /** Owner of the controller. */
  readonly owner: string;
  /** File with the admin token; read for each request, because such files are replaced. */
  readonly tokenFile: string;
  /** PEM files for https, also read for each request. */
  readonly tls?: PublisherTls | undefined;
}

export interface PublisherTls {
  /** Authorities, instead of the default ones. */
  readonly caFile?: string | undefined;
  /** Presented if the gateway requests a client certificate. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/**
 * Approximate size of one request: a quarter of a gateway's limit. Few clusters have more; then a move of a host between two
 * requests is not atomic.
 */
const MAX_POST_BYTES = 16 * 1024 * 1024;

/** Above the time for which the gateway waits until a change is active everywhere. */
const TIMEOUT_MS = 60_000;

/** A published slice in a gateway's list. */
interface Listed {
  readonly owner: string;
  readonly digest: string;
}

export function createAdminPublisher(options: AdminPublisherOptions): SlicePublisher {
  const base = options.url.replace(/\/$/, "");
  const place = `${base}/config/slices`;
  const { owner } = options;

  return {
    place,
    async publish(slices) {
      const published = new Map((await list()).map((each) => [each.owner, each.digest]));
      const changed = slices.filter((slice) => published.get(slice.owner) !== slice.digest);
      const removed = await obsolete(published, slices);
      if (changed.length === 0 && removed.length === 0) return { kind: "published" };
      // Removals come first, so that their hosts are free for the others.
      const changes = [
        ...removed.map((each): Change => ({ ...each, text: "null" })),
        ...changed.map(({ owner: each, text }): Change => ({
          owner: each,
          text,
          expected: published.get(each) ?? null,
        })),
      ];
      return postAll(parts(changes));
    },
    async sealKey() {
      const answer = await ask("GET", `${base}/status`);
      if (answer.status !== 200) throw refused("read the seal key of", answer);
      const key = answer.body?.["seal_key"];
      return isRecord(key) ? JSON.stringify(key) : undefined;
    },
  };

  /** Retries rejected parts once after all others: a namespace may need a host that another one only now gave up. */
  async function postAll(first: readonly (readonly Change[])[]): Promise<PublishAnswer> {
    const notes: string[] = [];
    const waiting: SliceProblem[] = [];
    const refusedOnes: (readonly Change[])[] = [];
    const problems: SliceProblem[] = [];
    const postEach = async (all: readonly (readonly Change[])[], refusedIn: (readonly Change[])[]): Promise<void> => {
      const left = [...all];
      for (let part = left.shift(); part; part = left.shift()) {
        const answer = await ask("POST", place, bodyOf(part));
        const said = answer.body ?? {};
        if (answer.status === 422) {
          for (const problem of problemsOf(said)) problems.push(problem);
          refusedIn.push(part);
        } else if (answer.status === 413 || answer.status === 400) {
          const [only] = part;
          const half = Math.ceil(part.length / 2);
          if (only && part.length === 1) waiting.push(tooMuch(only.owner, answer));
          else left.unshift(part.slice(0, half), part.slice(half));
        } else if (answer.status === 405) throw tooOld(base);
        else if (answer.status !== 200 && answer.status !== 202) throw refused("publish to", answer);
        else if (answer.status === 202) notes.push(laggardsOf(said));
      }
    };
    await postEach(first, refusedOnes);
    if (refusedOnes.length > 0 && refusedOnes.length < first.length) {
      problems.length = 0;
      await postEach(refusedOnes.splice(0), refusedOnes);
    }
    if (refusedOnes.length > 0) return { kind: "invalid", problems };
    const note = notes.length === 0 ? {} : { note: notes.join("; ") };
    return { kind: "published", ...note, ...(waiting.length > 0 && { waiting }) };
  }

  async function list(): Promise<readonly Listed[]> {
    const answer = await ask("GET", place);
    if (answer.status !== 200) throw refused("read the slices of", answer);
    const slices = answer.body?.["slices"];
    const found: readonly unknown[] = Array.isArray(slices) ? slices : [];
    return found
      .filter((each) => isRecord(each))
      .map((each) => ({ owner: textOf(each["owner"]), digest: textOf(each["digest"]) }));
  }

  /** Slices of this controller, or of an earlier version of it, that must be removed. */
  async function obsolete(published: ReadonlyMap<string, string>, slices: readonly SliceText[]) {
    const current = new Set(slices.map((slice) => slice.owner));
    const removed: { readonly owner: string; readonly expected: string }[] = [];
    for (const [each, expected] of published) {
      if (current.has(each) || (each !== owner && namespaceIn(owner, each) === undefined)) continue;
      const answer = await ask("GET", `${place}/${each}`);
      if (answer.status !== 200 && answer.status !== 404) throw refused("read the slices of", answer);
      if (answer.status === 200 && isMadeHere(owner, each, answer.body)) removed.push({ owner: each, expected });
    }
    return removed;
  }

  async function ask(method: string, url: string, body?: string): Promise<GatewayAnswer> {
    const authorization = `Bearer ${await readPublishing("admin token", options.tokenFile)}`;
    const tls = await readTls(options.tls);
    const program = { "user-agent": userAgentOf(KUBERNETES_PROGRAM) };
    const headers = { authorization, ...program, ...(body !== undefined && { "content-type": "application/json" }) };
    return attempting("publish.unreachable", `Cannot reach ${base}`, () =>
      askGateway({ method, url, headers, body, timeoutMs: TIMEOUT_MS, tls }),
    );
  }

  function refused(action: string, { status, body, said }: GatewayAnswer): GatewayError {
    const message = body?.["message"];
    const unknownName = 'it does not accept requests for this host name; add it to "admin_hosts" of the gateway';
    const unknownToken = `it does not accept the token in ${options.tokenFile}; a gateway reads its tokens at start, restart it after a change`;
    const known = status === 421 ? unknownName : status === 401 ? unknownToken : `status ${status}`;
    const detail = typeof message === "string" ? said(message) : known;
    return new GatewayError("publish.refused", `Cannot ${action} ${base}: ${detail}`);
  }
}

interface Change {
  readonly owner: string;
  /** JSON of the slice, or of null. */
  readonly text: string;
  /** Digest of the currently published slice. */
  readonly expected: string | null;
}

/** In the same order; a part is above the size limit only if it is a single slice. */
function parts(changes: readonly Change[]): readonly (readonly Change[])[] {
  const all: Change[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    const own = Buffer.byteLength(change.text);
    if (bytes + own > MAX_POST_BYTES) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(change);
    bytes += own;
  }
  return all;
}

function bodyOf(changes: readonly Change[]): string {
  const items = changes.map(
    ({ owner, text, expected }) =>
      `{"owner":${JSON.stringify(owner)},"slice":${text.trimEnd()},"expected":${JSON.stringify(expected)}}`,
  );
  return `{"changes":[${items.join(",")}]}`;
}

/** Problem of a single slice that no gateway accepts: only it waits. */
function tooMuch(owner: string, { status, body }: GatewayAnswer): SliceProblem {
  const said = body?.["message"];
  return { severity: "error", owner, path: [], message: typeof said === "string" ? said : `status ${status}` };
}

function tooOld(base: string): GatewayError {
  const message = `Cannot publish to ${base}: the gateway is older than this controller, must be updated first`;
  return new GatewayError("publish.refused", message);
}

async function readTls({ caFile, certFile, keyFile }: PublisherTls = {}): Promise<GatewayTls> {
  const read = (what: string, file: string | undefined): Promise<string> | undefined =>
    file === undefined ? undefined : readPublishing(what, file);
  return {
    ca: await read("authority of the admin address", caFile),
    cert: await read("client certificate", certFile),
    key: await read("client key", keyFile),
  };
}

async function readPublishing(what: string, file: string): Promise<string> {
  const text = await attempting("publish.token", `Cannot read the ${what} from "${file}"`, () =>
    readFile(file, "utf8"),
  );
  return text.trim();
}

function problemsOf({ problems, message }: Readonly<Record<string, unknown>>): readonly SliceProblem[] {
  const found = (Array.isArray(problems) ? problems : [])
    .filter((each) => isRecord(each))
    .map((each) => ({
      severity: each["severity"] === "warning" ? ("warning" as const) : ("error" as const),
      // A problem of another slice or of the gateway's own file has no owner, and is not ours, whatever its path.
      owner: typeof each["owner"] === "string" ? each["owner"] : undefined,
      path: parsePath(textOf(each["path"])),
      message: textOf(each["message"]),
      rivals: rivalsOf(each["rivals"]),
    }));
  if (found.length > 0) return found;
  const said = typeof message === "string" ? message : "the gateway refused it";
  return [{ severity: "error", owner: undefined, path: [], message: said }];
}

/** Locations that conflict with a problem; older gateways do not report them. */
function rivalsOf(rivals: unknown): readonly Rival[] {
  return (Array.isArray(rivals) ? rivals : []).filter(isRecord).flatMap(({ file, path, around }): Rival[] => {
    const [before, after] = Array.isArray(around) ? (around as readonly unknown[]) : [];
    if (typeof before !== "string" || typeof after !== "string") return [];
    return [{ file: textOf(file), path: parsePath(textOf(path)), around: [before, after] }];
  });
}

function laggardsOf({ laggards }: Readonly<Record<string, unknown>>): string {
  const ids = Array.isArray(laggards)
    ? laggards.map((each) => (isRecord(each) ? `${textOf(each["id"])} ${textOf(each["reason"])}` : ""))
    : [];
  return `not live yet in ${ids.join("; ")}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
