/** The program of rows/fastify.ts: `node fastify-program.ts OPTIONS` with JSON. */
import { readFileSync } from "node:fs";

import proxy from "@fastify/http-proxy";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from "jose";
import pino from "pino";

interface Options {
  readonly port: number;
  readonly upstream: number;
  readonly hosts: readonly string[];
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  readonly issuer: string;
  readonly audience: string;
  readonly records: string;
}

const options = JSON.parse(process.argv[2] ?? "") as Options;
const { issuer, audience, tls } = options;
const upstream = `http://127.0.0.1:${options.upstream}`;
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
const records = pino(pino.destination({ dest: options.records, sync: false, minLength: 4096, periodicFlush: 1000 }));

const secure = tls && { key: readFileSync(tls.keyFile), cert: readFileSync(tls.certificateFile), allowHTTP1: true };
const app = fastify(
  (secure ? { http2: true, https: secure } : {}) as Record<string, never>,
) as unknown as FastifyInstance;

async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
  let claims: JWTPayload;
  try {
    if (scheme?.toLowerCase() !== "bearer") throw new Error("no bearer token");
    ({ payload: claims } = await jwtVerify(token, keys, { issuer, audience, algorithms: ["RS256"] }));
  } catch {
    await reply.code(401).header("www-authenticate", "Bearer").send({ error: "unauthorized" });
    return;
  }
  Object.assign(request, { user: claims["email"] });
  if (claims["email"] !== "alice@example.com") await reply.code(403).send({ error: "forbidden" });
}

interface Message {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: { readonly name?: string };
}

async function checkTool(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { method, params } = request.body as Message;
  if (method === "tools/call" && params?.name?.startsWith("delete_") === true)
    await reply.code(403).send({ error: "forbidden tool" });
}

/** Without the denied tools. */
async function sendList(reply: FastifyReply, stream: AsyncIterable<Buffer>): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const message = JSON.parse(Buffer.concat(chunks).toString()) as { result: { tools: { name: string }[] } };
  message.result.tools = message.result.tools.filter(({ name }) => !name.startsWith("delete_"));
  const text = JSON.stringify(message);
  void reply.header("content-length", Buffer.byteLength(text)).send(text);
}

app.addHook("onResponse", async (request, reply) => {
  const { user } = request as { user?: string };
  records.info({ user, method: request.method, path: request.url, status: reply.statusCode });
});

const undici = { connections: 128 };
app.addHook("onRequest", authenticate);
for (const prefix of ["/web", "/mcp"]) await app.register(proxy, { upstream, prefix, rewritePrefix: prefix, undici });
await app.register(async (scope) => {
  scope.addHook("preHandler", checkTool);
  await scope.register(proxy, {
    upstream,
    prefix: "/tool",
    rewritePrefix: "/tool",
    undici,
    // The body is read for the rule, and sent on as it was parsed.
    proxyPayloads: false,
    replyOptions: {
      onResponse: (request, reply, response) => {
        const isList = (request.body as Message | undefined)?.method === "tools/list";
        const { stream } = response as unknown as { stream: AsyncIterable<Buffer> };
        if (isList) void sendList(reply as unknown as FastifyReply, stream);
        else void (reply as unknown as FastifyReply).send(stream);
      },
    },
  });
});
// Its router holds at most 31 hosts a path: the other routes are paths.
for (const host of options.hosts) await app.register(proxy, { upstream, prefix: `/${host}`, undici });
await app.listen({ port: options.port, host: "127.0.0.1" });
