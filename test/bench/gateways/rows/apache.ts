/** Apache with mod_auth_openidc: sign-in and sessions for pages, bearer JWTs for MCP. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { apacheBase } from "../../peers/apache.ts";
import { type Contender, NO_TOOLS, PROVIDER_CLIENT, sessionAndBearerOf } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";

/** Each request in flight has one. */
const THREADS = 64;

export const APACHE_ROW: Contender = {
  name: "apache-oidc",
  title: "Apache, mod_auth_openidc",
  programs: ["apache"],
  identity: "session in shared memory of its own sign-in; for MCP bearer JWT (RS256), verified each time",
  policy: "`Require claim`",
  record: "access log, JSON, file, one write a line, its default",
  notes: `No rule on tools. It sends all claims to the upstream as headers, its default. One process of ${THREADS} threads.`,
  cannot: { tool: NO_TOOLS },
  showsAllTools: true,
  async start(setup) {
    const { directory, port, origin, upstream, hosts, tls, issuer, provider, program, start } = setup;
    const modules = tls ? ["ssl", "http2", "socache_shmcb"] : [];
    const proxy = `ProxyPass http://127.0.0.1:${upstream}/`;
    const kept = `keepalive=on enablereuse=on max=${THREADS}`;
    const guarded = (path: string, type: string, claims: readonly string[] = []): string => `<Location ${path}>
  AuthType ${type}
  <RequireAll>
${["email:alice@example.com", ...claims].map((claim) => `    Require claim ${claim}\n`).join("")}  </RequireAll>
  ${proxy}${path.slice(1)} ${kept}${path === "/mcp" || path === "/tool" ? " flushpackets=on" : ""}
</Location>
`;
    const hostOf = (host: string, body: string): string =>
      `<VirtualHost 127.0.0.1:${port}>\nServerName ${host}\n${tls ? `SSLEngine on\nSSLCertificateFile ${tls.certificateFile}\nSSLCertificateKeyFile ${tls.keyFile}\n` : ""}${body}</VirtualHost>\n`;
    const key = join(directory, "issuer.pem");
    // It fetches keys over HTTPS only.
    await writeFile(key, issuer.publicKey);
    const config = join(directory, "apache.conf");
    const records = join(directory, "access.log");
    await writeFile(
      config,
      `${apacheBase({ folder: directory, port, modules, threads: THREADS, asyncFactor: 16 })}${tls ? "Protocols h2 http/1.1\nSSLSessionCache none\n" : ""}GlobalLog ${records} line
OIDCProviderMetadataURL ${provider.issuer}/.well-known/openid-configuration
OIDCClientID ${PROVIDER_CLIENT.client_id}
OIDCClientSecret ${PROVIDER_CLIENT.client_secret}
OIDCRedirectURI ${origin}/web/callback
OIDCCryptoPassphrase ${randomBytes(16).toString("hex")}
OIDCScope "openid email profile"
OIDCRemoteUserClaim email
OIDCOAuthVerifyCertFiles comparison#${key}
OIDCOAuthRemoteUserClaim email
${hostOf("localhost", guarded("/web", "openid-connect") + ["/mcp", "/tool"].map((path) => guarded(path, "oauth20", [`aud:${AUDIENCE}`, `iss:${issuer.url}`])).join(""))}
${hosts.map((host) => hostOf(host, guarded("/", "openid-connect"))).join("")}`,
    );
    await provider.allowRedirects(PROVIDER_CLIENT.client_id, [`${origin}/web/callback`]);
    await start([await program("apache"), "-f", config, "-DFOREGROUND"]);
    return { records: [records], credentials: sessionAndBearerOf(setup) };
  },
};
