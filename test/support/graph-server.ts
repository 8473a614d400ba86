/**
 * A stand-in for Entra's token service and Microsoft Graph, with the two documented requests, on one loopback socket. Strict:
 * a request that differs from the documentation gets the error that Microsoft would send, and is stored in `wrong`.
 *
 * @see learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 * @see learn.microsoft.com/graph/api/directoryobject-getmemberobjects
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export const TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47";
export const GRAPH_CLIENT = "535fb089-9ff3-47b6-9bfb-4f1264799865";
/** Has what must be written otherwise in a form. */
export const GRAPH_SECRET = "graph~secret+of/the=app & more%";

export interface GraphServer {
  /** For `login_url` and `graph_url`. */
  readonly origin: string;
  /** Groups of a user, by object ID; other users are not found. */
  readonly groups: Map<string, unknown>;
  /** Answers instead of the documented one; undefined: as documented. May leave the request without an answer. */
  instead: ((what: "token" | "groups", response: ServerResponse) => boolean) | undefined;
  /** Names of distribution groups and roles, for `securityEnabledOnly: false`. */
  readonly others: readonly string[];
  readonly tokens: number;
  readonly questions: readonly { readonly user: string; readonly securityEnabledOnly: unknown }[];
  readonly wrong: readonly string[];
  /** Revokes all issued tokens. */
  revokeTokens(): void;
  close(): Promise<void>;
}

const QUESTION = /^\/v1\.0\/users\/([0-9a-f-]{36})\/getMemberObjects$/;

export async function startGraphServer(): Promise<GraphServer> {
  const groups = new Map<string, unknown>();
  const questions: { user: string; securityEnabledOnly: unknown }[] = [];
  const wrong: string[] = [];
  const others = ["0d4f8a2e-0000-4000-8000-0000000000aa"];
  let tokens = 0;
  let firstGood = 1;
  let origin = "";

  const tokenRequestProblem = (request: IncomingMessage, body: string): string | undefined => {
    if (request.method !== "POST") return "method";
    if (request.headers["content-type"]?.split(";")[0] !== "application/x-www-form-urlencoded") return "content-type";
    if (request.headers.authorization !== undefined) return "authorization beside client_secret";
    const form = new URLSearchParams(body);
    form.sort();
    const expected = [
      ["client_id", GRAPH_CLIENT],
      ["client_secret", GRAPH_SECRET],
      ["grant_type", "client_credentials"],
      ["scope", `${origin}/.default`],
    ];
    return JSON.stringify([...form]) === JSON.stringify(expected) ? undefined : `form ${[...form.keys()].join()}`;
  };

  const answerToken = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const problem = tokenRequestProblem(request, await text(request));
    if (problem !== undefined) {
      wrong.push(`token: ${problem}`);
      return send(response, 401, { error: "invalid_client", error_description: `AADSTS7000215: ${problem}` });
    }
    tokens += 1;
    if (graph.instead?.("token", response)) return;
    send(response, 200, {
      token_type: "Bearer",
      expires_in: 3599,
      ext_expires_in: 3599,
      access_token: tokenText(tokens),
    });
  };

  const answerGroups = async (request: IncomingMessage, response: ServerResponse, user: string): Promise<void> => {
    const body = await text(request);
    const number = /^Bearer eyJ0.([0-9]+)\.sig$/.exec(request.headers.authorization ?? "")?.[1];
    if (number === undefined || Number(number) < firstGood || Number(number) > tokens)
      return send(response, 401, { error: { code: "InvalidAuthenticationToken", message: "Access token is bad." } });
    const asked = JSON.parse(body) as { securityEnabledOnly?: unknown };
    const isExact =
      Object.keys(asked).join() === "securityEnabledOnly" && typeof asked.securityEnabledOnly === "boolean";
    if (request.method !== "POST" || request.headers["content-type"] !== "application/json" || !isExact) {
      wrong.push(`groups: ${request.method} ${request.headers["content-type"]} ${body}`);
      return send(response, 400, { error: { code: "Request_BadRequest", message: "Write requests" } });
    }
    questions.push({ user, securityEnabledOnly: asked.securityEnabledOnly });
    if (graph.instead?.("groups", response)) return;
    const found = groups.get(user);
    if (found === undefined)
      return send(response, 404, { error: { code: "Request_ResourceNotFound", message: `Resource '${user}'` } });
    const value = asked.securityEnabledOnly === false && Array.isArray(found) ? [...found, ...others] : found;
    send(response, 200, { "@odata.context": `${origin}/v1.0/$metadata#Collection(Edm.String)`, value });
  };

  const server = createServer((request, response) => {
    const user = QUESTION.exec(request.url ?? "")?.[1];
    if (request.url === `/${TENANT}/oauth2/v2.0/token`) void answerToken(request, response);
    else if (user !== undefined) void answerGroups(request, response, user);
    else {
      wrong.push(`address ${request.url}`);
      send(response, 404, {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const graph: GraphServer = {
    origin,
    groups,
    instead: undefined,
    others,
    get tokens() {
      return tokens;
    },
    questions,
    wrong,
    revokeTokens: () => void (firstGood = tokens + 1),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return graph;
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Graph's tokens are opaque to clients. */
function tokenText(number: number): string {
  return `eyJ0.${number}.sig`;
}
