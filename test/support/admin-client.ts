/** Publishing as a pipeline does it: plain http requests to a gateway's admin address. */
import { request as httpRequest } from "node:http";

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The text as JSON; {} when it is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AdminClient {
  ask(method: string, path: string, headers?: Record<string, string>, body?: string | Buffer): Promise<AdminAnswer>;
  get(path: string): Promise<AdminAnswer>;
  /** @param match digest to replace, "*" for any content, undefined for a new slice */
  publish(owner: string, text: string, match?: string): Promise<AdminAnswer>;
  remove(owner: string): Promise<AdminAnswer>;
}

/** @param token sent unless a request has headers of its own for it */
export function createAdminClient(origin: string, token: string): AdminClient {
  const ask: AdminClient["ask"] = (method, path, headers = {}, body) =>
    new Promise((resolve, reject) => {
      const request = httpRequest(
        `${origin}${path}`,
        { method, agent: false, headers: { authorization: `Bearer ${token}`, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8");
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) });
          });
        },
      );
      request.on("error", reject).end(body);
    });
  return {
    ask,
    get: (path) => ask("GET", path),
    publish: (owner, text, match) => ask("PUT", `/config/slices/${owner}`, precondition(match), text),
    remove: (owner) => ask("DELETE", `/config/slices/${owner}`, { "if-match": "*" }),
  };
}

function precondition(match: string | undefined): Record<string, string> {
  if (match === undefined) return { "if-none-match": "*" };
  return { "if-match": match === "*" ? "*" : `"${match}"` };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
