/** The comments of a pull request as the workflow's script finds them: for the check, which has no GitHub. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface Comment {
  readonly id: number;
  readonly user: { readonly login: string };
  body: string;
}

export interface CommentServer {
  /** For the script. */
  readonly environment: Readonly<Record<string, string>>;
  readonly comments: Comment[];
  close(): void;
}

/** @param count of comments by other people that are there already; one of them begins as the script's do */
export async function startComments(count: number, imitation: string): Promise<CommentServer> {
  const comments: Comment[] = Array.from({ length: count }, (_, at) => ({
    id: at + 1,
    user: { login: "a-reviewer" },
    body: at === 0 ? imitation : "looks good",
  }));
  const path = "/repos/acme/gateway/issues";
  const answer = async (request: IncomingMessage): Promise<readonly [number, unknown]> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (request.headers.authorization !== "Bearer token-of-the-run") return [401, {}];
    if (request.method === "GET" && pathname === `${path}/7/comments`) {
      const [page, size] = [Number(searchParams.get("page") ?? 1), Number(searchParams.get("per_page") ?? 30)];
      return [200, comments.slice((page - 1) * size, page * size)];
    }
    const { body } = (await json(request)) as { body: string };
    if (body.length > 65_536) return [422, {}];
    if (request.method === "POST" && pathname === `${path}/7/comments`) {
      const comment = { id: comments.length + 1, user: { login: "github-actions[bot]" }, body };
      comments.push(comment);
      return [201, comment];
    }
    const edited = comments.find(({ id }) => request.method === "PATCH" && pathname === `${path}/comments/${id}`);
    if (edited) edited.body = body;
    return edited ? [200, edited] : [404, {}];
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      GITHUB_API_URL: `http://127.0.0.1:${port}`,
      GITHUB_REPOSITORY: "acme/gateway",
      PULL_REQUEST: "7",
      GH_TOKEN: "token-of-the-run",
    },
    comments,
    close: () => void server.close(),
  };
}
