/** This gateway as the package has it, with a store in SQLite. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { signInClient } from "../../../support/oauth-client.ts";
import { type Contender, PROVIDER_CLIENT, sessionOf } from "../contender.ts";
import { DENIED_PREFIX } from "../sizes.ts";

export const GATEFORM: Contender = {
  name: "gateform",
  title: "Gateform",
  programs: ["gateform"],
  identity:
    "session cookie of its own sign-in, looked up; for MCP an access token of its own authorization server, looked up",
  policy: "email; `mcp_tool`",
  record: "authorization record of the decision, JSON, file, in batches; without the status of the response",
  notes:
    "Also signs an identity header for the upstream, and serves sign-in, consent and tokens itself. A token is looked up, not verified by its signature each time, which costs less; a signed-out user is refused within seconds.",
  cannot: {},
  isCompiledLate: true,
  async start({ directory, port, origin, upstream, hosts, tls, provider, program, start }) {
    const records = join(directory, "records.log");
    const config = join(directory, "gateway.json");
    const to = `http://127.0.0.1:${upstream}`;
    const allowed = { allow: { and: [{ email: { is: "alice@example.com" } }] } };
    const mcp = { server: { max_request_bytes: 65_536 } };
    const document = {
      address: `127.0.0.1:${port}`,
      admin_address: "127.0.0.1:0",
      ...(tls
        ? { certificates: [{ certificate_file: tls.certificateFile, certificate_key_file: tls.keyFile }] }
        : { insecure_server: true }),
      // The identity provider of the comparison speaks plain HTTP.
      development: true,
      shared_secret: randomBytes(32).toString("base64"),
      storage_url: `sqlite:${join(directory, "gateway.db")}`,
      authorize_log: records,
      log_level: "error",
      runtime_flags: { mcp: true },
      idp_provider_url: provider.issuer,
      idp_client_id: PROVIDER_CLIENT.client_id,
      idp_client_secret: PROVIDER_CLIENT.client_secret,
      routes: [
        { name: "web", from: origin, prefix: "/web", to, policy: [allowed] },
        { name: "mcp", from: origin, prefix: "/mcp", to, mcp, policy: [allowed] },
        {
          name: "tool",
          from: origin,
          prefix: "/tool",
          to,
          mcp,
          policy: [allowed, { deny: { or: [{ mcp_tool: { starts_with: DENIED_PREFIX } }] } }],
        },
        ...hosts.map((host) => ({
          name: host.replace(/\..*$/, ""),
          from: `${new URL(origin).protocol}//${host}`,
          to,
          policy: [allowed],
        })),
      ],
    };
    await writeFile(config, JSON.stringify(document));
    await provider.allowRedirects(PROVIDER_CLIENT.client_id, [`${origin}/.gateway/callback`]);
    await start([process.execPath, await program("gateform"), "run", "--config", config], { patienceMs: 30_000 });
    const tokenOf = async (path: string, user: string): Promise<string> => {
      // A user that no policy allows gets no token.
      const client = await signInClient({ resource: `${origin}${path}`, user: `${user}@example.com` }).catch(() => {});
      return `authorization: Bearer ${client?.tokens.access_token ?? "none"}`;
    };
    return {
      records: [records],
      credentials: async (user) => ({
        web: await sessionOf(origin, user),
        mcp: tls ? "" : await tokenOf("/mcp", user),
        tool: tls ? "" : await tokenOf("/tool", user),
      }),
    };
  },
};
