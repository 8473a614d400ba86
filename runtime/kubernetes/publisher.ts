/**
 * Where the controller's slice goes: a directory that a gateway watches, or a gateway's admin address.
 *
 * The slice belongs to this controller alone, so whatever is there is replaced; the precondition only keeps two
 * controllers from overwriting each other unseen.
 */
import { readFile } from "node:fs/promises";

import type { Problem } from "../config/problem.ts";
import { isMembers } from "../config/problem.ts";
import { errorText, GatewayError } from "../errors.ts";
import { createOperatorFetch, type OperatorFetch } from "../http/operator-fetch.ts";
import { createFileTarget } from "../terraform/publish.ts";

export type PublishedProblem = Pick<Problem, "severity" | "path" | "message">;

export type PublishAnswer =
  /** In force, or (a directory) for the gateway to read. */
  | { readonly kind: "published"; readonly note?: string }
  /** Nothing was changed. */
  | { readonly kind: "invalid"; readonly problems: readonly PublishedProblem[] };

export interface SlicePublisher {
  /** For messages. */
  readonly place: string;
  /** @throws GatewayError when it should be tried again */
  publish(text: string): Promise<PublishAnswer>;
  /** The gateway's public key as JWK JSON; undefined when the place knows none. */
  sealKey(): Promise<string | undefined>;
}

export function createDirectoryPublisher(directory: string, owner: string): SlicePublisher {
  const target = createFileTarget({ directory, owner, mode: undefined });
  return {
    place: target.place,
    async publish(text) {
      const found = await target.read();
      // What was damaged there is ours to repair; a stranger's slice is refused by the target.
      await target.write(text, found.kind === "slice" ? found.digest : found.kind === "absent" ? null : "");
      return { kind: "published" };
    },
    sealKey: async () => undefined,
  };
}

export interface AdminPublisherOptions {
  /** "http://127.0.0.1:9901". */
  readonly url: string;
  readonly owner: string;
  /** File with the admin token; read for each request, because such files are replaced. */
  readonly tokenFile: string;
  readonly fetch?: OperatorFetch;
}

/** Above the time for which the gateway waits until a change is live everywhere. */
const TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export function createAdminPublisher(options: AdminPublisherOptions): SlicePublisher {
  const fetch = options.fetch ?? createOperatorFetch({ timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES });
  const base = options.url.replace(/\/$/, "");
  const place = `${base}/config/slices/${options.owner}`;

  return {
    place,
    async publish(text) {
      const found = await ask(place, { method: "HEAD" });
      if (found.status !== 200 && found.status !== 404) throw await refused("look at", found);
      const etag = found.headers.get("etag");
      const precondition = etag === null ? { "if-none-match": "*" } : { "if-match": etag };
      const answer = await ask(place, {
        method: "PUT",
        headers: { "content-type": "application/json", ...precondition },
        body: text,
      });
      const said = await body(answer);
      if (answer.status === 422) return { kind: "invalid", problems: problemsOf(said) };
      if (answer.status !== 200 && answer.status !== 202) throw await refused("publish to", answer, said);
      return answer.status === 200 ? { kind: "published" } : { kind: "published", note: laggardsOf(said) };
    },
    async sealKey() {
      const answer = await ask(`${base}/status`, { method: "GET" });
      if (answer.status !== 200) throw await refused("read the seal key of", answer);
      const key = (await body(answer))["seal_key"];
      return isMembers(key) ? JSON.stringify(key) : undefined;
    },
  };

  async function ask(url: string, init: RequestInit): Promise<Response> {
    const token = await readToken(options.tokenFile);
    return fetch(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${token}` } });
  }

  async function refused(
    action: string,
    answer: Response,
    said?: Readonly<Record<string, unknown>>,
  ): Promise<GatewayError> {
    const { message } = said ?? (await body(answer));
    const detail = typeof message === "string" ? message : `status ${answer.status}`;
    return new GatewayError("publish.refused", `Cannot ${action} ${base}: ${detail}`);
  }
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new GatewayError("publish.token", `Cannot read the admin token from "${file}": ${errorText(error)}`, {
      cause: error,
    });
  }
}

async function body(answer: Response): Promise<Readonly<Record<string, unknown>>> {
  const value: unknown = await answer.json().catch(() => undefined);
  return isMembers(value) ? value : {};
}

function problemsOf({ problems, message }: Readonly<Record<string, unknown>>): readonly PublishedProblem[] {
  const found = (Array.isArray(problems) ? problems : [])
    .filter((each) => isMembers(each))
    .map((each) => ({
      severity: each["severity"] === "warning" ? ("warning" as const) : ("error" as const),
      // A problem of another slice or of the gateway's own file is none of ours, whatever its path.
      path: each["source"] === undefined ? textOf(each["path"]) : "",
      message: textOf(each["message"]),
    }));
  if (found.length > 0) return found;
  return [{ severity: "error", path: "", message: typeof message === "string" ? message : "the gateway refused it" }];
}

function laggardsOf({ laggards }: Readonly<Record<string, unknown>>): string {
  const ids = Array.isArray(laggards)
    ? laggards.map((each) => (isMembers(each) ? `${textOf(each["id"])} ${textOf(each["reason"])}` : ""))
    : [];
  return `not live yet in ${ids.join("; ")}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
