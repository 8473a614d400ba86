/** ContextForge: a virtual server of a team with the tools that its policy allows. MCP only here. */
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { secretJwt } from "../../common/jwt.ts";
import { type Contender, everywhere, NOT_IN_MCP_SERVERS, type User } from "../contender.ts";
import { DENIED_PREFIX } from "../sizes.ts";

const ADMIN = "admin@example.com";
/** Its rules ask for one without sequences. */
const PASSWORD = "Kite!Rabbit-8-Qx";
/** It makes its database first. */
const PATIENCE_MS = 180_000;

export const CONTEXTFORGE: Contender = {
  name: "contextforge",
  title: "ContextForge",
  programs: ["contextforge"],
  identity: "bearer JWT of its own (HS256, its default), verified each time; user and team from its database and cache",
  policy: "team of the user; a virtual server has only the allowed tools",
  record: "structured log of each request and decision, JSON, standard error to a file",
  notes:
    "Ends MCP: it is a server for the client and a client of the upstream. It stores tools and lists them from its database. Without sessions and with JSON responses, its defaults. `LOG_LEVEL` is INFO: with its default there are no records. SQLite, one process (its documentation wants PostgreSQL and Redis for more than tests), its rate limit off. Measured apart, with three rounds.",
  cannot: NOT_IN_MCP_SERVERS,
  isSlow: true,
  async start({ directory, port, origin, upstream, program, start }) {
    const secret = randomBytes(32).toString("hex");
    const env = {
      DATABASE_URL: `sqlite:///${join(directory, "contextforge.db")}`,
      JWT_SECRET_KEY: secret,
      AUTH_ENCRYPTION_SECRET: randomBytes(32).toString("hex"),
      PLATFORM_ADMIN_EMAIL: ADMIN,
      PLATFORM_ADMIN_PASSWORD: PASSWORD,
      BASIC_AUTH_PASSWORD: PASSWORD,
      MCPGATEWAY_UI_ENABLED: "false",
      SSRF_ALLOW_LOCALHOST: "true",
      SSRF_ALLOW_PRIVATE_NETWORKS: "true",
      // As its tuning guide says for reading much; default: the database.
      CACHE_TYPE: "memory",
      // Default: 100 requests a minute.
      RATE_LIMITING_ENABLED: "false",
      LOG_LEVEL: "INFO",
    };
    const command = (await program("contextforge")).replace(/python$/, "mcpgateway");
    await start([command, "--host", "127.0.0.1", "--port", String(port)], { env, patienceMs: PATIENCE_MS });
    const admin = signToken(secret, ADMIN, true);
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
        redirect: "error",
      });
      if (!response.ok)
        throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 200)}`);
      return response.json();
    };
    await untilHealthy(origin);
    for (const user of ["alice", "bob"])
      await call("POST", "/auth/email/admin/users", {
        email: `${user}@example.com`,
        password: PASSWORD,
        full_name: user,
        is_admin: false,
      });
    const team = (await call("POST", "/teams/", { name: "readers", visibility: "private" })) as { id: string };
    await call("POST", `/teams/${team.id}/members`, { email: "alice@example.com", role: "member" });
    const ofTeam = { visibility: "team", team_id: team.id };
    const url = `http://127.0.0.1:${upstream}/mcp`;
    await call("POST", "/gateways", { name: "up", url, transport: "STREAMABLEHTTP", ...ofTeam });
    const tools = (await call("GET", "/tools?limit=0")) as readonly { id: string; originalName: string }[];
    const allowed = tools.filter(({ originalName }) => !originalName.startsWith(DENIED_PREFIX));
    const server = { name: "allowed", associated_tools: allowed.map(({ id }) => id) };
    const { id } = (await call("POST", "/servers", { server, ...ofTeam })) as { id: string };
    const path = `/servers/${id}/mcp/`;
    return {
      records: [join(directory, "process-0.errors")],
      paths: { mcp: path, tool: path },
      toolName: (name) => `up-${name.replaceAll("_", "-")}`,
      credentials: (user: User) => {
        const token = signToken(secret, `${user}@example.com`, false, user === "alice" ? [team.id] : []);
        return Promise.resolve(everywhere(`authorization: Bearer ${token}`));
      },
    };
  },
};

async function untilHealthy(origin: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`${origin}/health`).catch(() => {});
    if (response?.ok === true) return;
    if (performance.now() > until) throw new Error("ContextForge is not healthy");
    await delay(200);
  }
}

/** As its own tool `create_jwt_token` makes them. */
function signToken(secret: string, email: string, isAdmin: boolean, teams: readonly string[] | null = null): string {
  return secretJwt(secret, {
    iss: "mcpgateway",
    aud: "mcpgateway-api",
    sub: email,
    user: { email, is_admin: isAdmin, auth_provider: "local" },
    is_admin: isAdmin,
    teams,
    token_use: "api",
    jti: randomUUID(),
  });
}
