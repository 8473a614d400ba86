/**
 * A real Ory Hydra in memory. It has neither users nor pages: the application in front of it signs users in, answers its token hook,
 * and passes all other requests on to it.
 */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";

import { expect, vi } from "vitest";

import { POLL_MS } from "../../support/limits.ts";
import { freePort } from "../../support/ports.ts";
import { startProcess, type RealProcess } from "../common/process.ts";
import { PASSWORD } from "../common/provider-world.ts";
import { installHydra } from "./install.ts";

export interface Hydra {
  readonly issuer: string;
  readonly process: RealProcess;
  /** By their names, which are their subjects; the token hook refuses others. */
  readonly users: Set<string>;
  /** All that it gave, the newest last. */
  readonly refreshTokens: readonly string[];
  /** A request of the administrator. @throws Error for another answer than 2xx */
  admin<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}

/** A request of Hydra to the application. */
interface Asked {
  readonly skip?: boolean;
  readonly subject: string;
  readonly requested_scope?: readonly string[];
}

export async function startHydra(): Promise<Hydra> {
  const program = await installHydra();
  const directory = await mkdtemp(join(tmpdir(), "gateway-hydra-"));
  const [publicPort, adminPort] = [await freePort(), await freePort()];
  const users = new Set<string>();
  const refreshTokens: string[] = [];

  const admin = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/admin${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
    return (said === "" ? undefined : JSON.parse(said)) as T;
  };

  /** Accepts Hydra's request, and sends the browser back to it. */
  const accept = async (response: ServerResponse, what: string, challenge: string, body: object): Promise<void> => {
    const path = `/oauth2/auth/requests/${what}/accept?${what}_challenge=${encodeURIComponent(challenge)}`;
    const { redirect_to: location } = await admin<{ redirect_to: string }>("PUT", path, body);
    response.writeHead(302, { location }).end();
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    const what = pathname.slice(1);
    if (what === "hook") {
      const { session } = (await json(request)) as { session: { id_token: { subject: string } } };
      response.writeHead(users.has(session.id_token.subject) ? 204 : 403).end();
      return;
    }
    if (!["login", "consent", "logout"].includes(what)) return forward(request, response);
    const challenge = searchParams.get(`${what}_challenge`) ?? "";
    const query = `${what}_challenge=${encodeURIComponent(challenge)}`;
    const asked = await admin<Asked>("GET", `/oauth2/auth/requests/${what}?${query}`);
    if (what === "logout") return accept(response, what, challenge, {});
    if (what === "consent") {
      const claims = { email: `${asked.subject}@example.com`, email_verified: true, name: asked.subject };
      return accept(response, what, challenge, { grant_scope: asked.requested_scope, session: { id_token: claims } });
    }
    const form = new URLSearchParams(request.method === "POST" ? await text(request) : "");
    const subject = asked.skip === true ? asked.subject : (form.get("username") ?? "");
    if (asked.skip === true || (users.has(subject) && form.get("password") === PASSWORD))
      return accept(response, what, challenge, { subject, remember: true, remember_for: 3600 });
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<form method="post" action="/login?${query}"><input name="username"><input name="password"></form>`);
  };

  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    const { method, headers, url } = request;
    const sent = httpRequest({ host: "127.0.0.1", port: publicPort, method, headers, path: url }, (from) => {
      response.writeHead(from.statusCode ?? 502, from.headers);
      from.pipe(response);
      let said = "";
      from.on("data", (chunk: Buffer) => (said += chunk.toString()));
      from.on("end", () => refreshTokens.push(...(/(?<="refresh_token":")[^"]+/.exec(said) ?? [])));
    });
    sent.on("error", () => response.destroy());
    request.pipe(sent);
  };

  const front = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  const issuer = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const config = join(directory, "hydra.json");
  await writeFile(
    config,
    JSON.stringify({
      dsn: "memory",
      serve: {
        public: { host: "127.0.0.1", port: publicPort },
        admin: { host: "127.0.0.1", port: adminPort },
      },
      urls: {
        self: { issuer },
        login: `${issuer}/login`,
        consent: `${issuer}/consent`,
        logout: `${issuer}/logout`,
      },
      secrets: { system: ["secret-of-hydra-of-the-tests"] },
      oauth2: { token_hook: `${issuer}/hook` },
    }),
  );
  const process = await startProcess(
    program,
    ["serve", "all", "--dev", "--sqa-opt-out", "--config", config],
    /Setting up http server/,
  );
  const close = async (): Promise<void> => {
    front.close();
    front.closeAllConnections();
    await process.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const ready = `http://127.0.0.1:${adminPort}/health/ready`;
    await vi.waitFor(async () => expect((await fetch(ready)).status).toBe(200), { timeout: POLL_MS });
    // Makes its key, which may take longer than the gateway waits for metadata.
    expect((await fetch(`${issuer}/.well-known/openid-configuration`)).status).toBe(200);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    issuer,
    process,
    users,
    refreshTokens,
    admin,
    close,
  };
}
