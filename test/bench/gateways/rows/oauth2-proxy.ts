/** oauth2-proxy: as the gateway, and as the service that nginx, Traefik and Caddy ask about each request. */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { createSend } from "../../../support/browser.ts";
import { freePort } from "../../../support/ports.ts";
import { type Contender, NO_TOOLS, PROVIDER_CLIENT, sessionAndBearerOf, type Setup } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";
import { startNginx } from "./nginx.ts";

const IDENTITY =
  "oauth2-proxy: encrypted session cookie of its sign-in; for MCP bearer JWT (RS256, `skip_jwt_bearer_tokens`), verified each time";
const POLICY = "oauth2-proxy: file of emails";
const ASKED = { cannot: { tool: NO_TOOLS }, showsAllTools: true, identity: IDENTITY, policy: POLICY } as const;

export const OAUTH2_PROXY: Contender = {
  ...ASKED,
  cannot: { ...ASKED.cannot, http2: "it does not offer HTTP/2 to clients" },
  name: "oauth2-proxy",
  title: "oauth2-proxy",
  programs: ["oauth2-proxy"],
  record: "request log, file, one write a line",
  notes:
    "No rule on tools. Sessions are in the cookie and are not renewed (`cookie_refresh = 0`), and hold no tokens (`session_cookie_minimal`). Its 1,000 routes are paths, as it does not know hosts. It keeps two idle connections to an upstream (the default of Go) and has no setting for more.",
  async start(setup) {
    const { port, upstream, hosts, tls, start } = setup;
    const to = `http://127.0.0.1:${upstream}`;
    const listener = tls
      ? [
          `https_address = "127.0.0.1:${port}"`,
          `tls_cert_file = "${tls.certificateFile}"`,
          `tls_key_file = "${tls.keyFile}"`,
        ]
      : [`http_address = "127.0.0.1:${port}"`];
    const upstreams = [`${to}/`, ...hosts.map((host) => `${to}/${host}/`)];
    const { command, records } = await configure(setup, [
      ...listener,
      `upstreams = ${JSON.stringify(upstreams)}`,
      "reverse_proxy = false",
    ]);
    await start(command);
    return { records: [records], credentials: sessionAndBearerOf(setup) };
  },
};

/** As the one that is asked about each request. @returns its port and its file of records */
async function startAsked(setup: Setup): Promise<{ readonly port: number; readonly records: string }> {
  const port = await freePort();
  const { command, records } = await configure(setup, [
    `http_address = "127.0.0.1:${port}"`,
    'upstreams = ["static://202"]',
    "reverse_proxy = true",
    "set_xauthrequest = true",
  ]);
  await setup.start(command, { port });
  return { port, records };
}

async function configure({ directory, origin, issuer, provider, program }: Setup, more: readonly string[]) {
  await mkdir(directory, { recursive: true });
  const emails = join(directory, "emails");
  await writeFile(emails, "alice@example.com\n");
  const records = join(directory, "oauth2-proxy.log");
  const redirect = `${origin}/oauth2/callback`;
  await provider.allowRedirects(PROVIDER_CLIENT.client_id, [redirect]);
  const config = join(directory, "oauth2-proxy.cfg");
  await writeFile(
    config,
    `${more.join("\n")}
provider = "oidc"
oidc_issuer_url = "${provider.issuer}"
client_id = "${PROVIDER_CLIENT.client_id}"
client_secret = "${PROVIDER_CLIENT.client_secret}"
redirect_url = "${redirect}"
code_challenge_method = "S256"
scope = "openid email profile"
cookie_secret = "${randomBytes(16).toString("hex")}"
cookie_secure = ${origin.startsWith("https:")}
cookie_refresh = "0"
session_cookie_minimal = true
authenticated_emails_file = "${emails}"
skip_provider_button = true
skip_jwt_bearer_tokens = true
extra_jwt_issuers = ["${issuer.url}=${AUDIENCE}"]
request_logging = true
auth_logging = false
logging_filename = "${records}"
`,
  );
  return { command: [await program("oauth2-proxy"), "--config", config], records };
}

export const NGINX_OAUTH2_PROXY: Contender = {
  ...ASKED,
  name: "nginx-oauth2-proxy",
  title: "nginx + oauth2-proxy",
  programs: ["nginx", "oauth2-proxy"],
  record: "access log of nginx, in batches, and request log of oauth2-proxy, files",
  notes: "`auth_request` with connections kept to both. Two records a request. No rule on tools.",
  async start(setup) {
    const { directory } = setup;
    const asked = await startAsked(setup);
    const records = join(directory, "access.log");
    const format = `log_format line escape=json '{"time":"$time_iso8601","user":"$user","method":"$request_method","path":"$uri","status":$status}';`;
    // A location with such a directive inherits none: without Connection, each question would have a connection of its own.
    const asking = 'proxy_pass http://asked; proxy_set_header Connection ""; proxy_set_header Host $http_host;';
    const own = `
    location /oauth2/ { ${asking} proxy_set_header X-Forwarded-Proto $scheme; }
    location = /oauth2/auth { internal; ${asking} proxy_pass_request_body off;
      proxy_set_header Content-Length ""; proxy_set_header X-Forwarded-Uri $request_uri; }
    location @sign_in { return 302 /oauth2/start?rd=$scheme://$http_host$request_uri; }`;
    const location = `auth_request /oauth2/auth; auth_request_set $user $upstream_http_x_auth_request_email;
      error_page 401 = @sign_in;`;
    const upstreams = `${format}
  upstream asked { server 127.0.0.1:${asked.port}; keepalive 128; keepalive_requests 1000000000; }
  map "" $user { default ""; }`;
    await startNginx(setup, { accessLog: `${records} line buffer=64k flush=1s`, upstreams, own, location });
    return { records: [records, asked.records], credentials: sessionAndBearerOf(setup) };
  },
};

export const TRAEFIK: Contender = {
  ...ASKED,
  name: "traefik-oauth2-proxy",
  title: "Traefik + oauth2-proxy",
  programs: ["traefik", "oauth2-proxy"],
  record: "access log of Traefik, JSON, with all its fields, and request log of oauth2-proxy, files",
  notes:
    "`forwardAuth`. Two records a request. No rule on tools. It opens a connection to oauth2-proxy for most requests with many connections, and has no setting for that.",
  async start(setup) {
    const { directory, port, upstream, hosts, tls, program, start } = setup;
    const asked = await startAsked(setup);
    const records = join(directory, "access.log");
    const [config, dynamic] = [join(directory, "traefik.yml"), join(directory, "dynamic.yml")];
    const own = tls ? { tls: {} } : {};
    const guarded = { entryPoints: ["in"], middlewares: ["auth"], service: "up", ...own };
    const others = hosts.map((host, index) => [`other-${index}`, { ...guarded, rule: `Host(\`${host}\`)` }]);
    await writeFile(
      dynamic,
      JSON.stringify({
        http: {
          routers: {
            "sign-in": { ...guarded, middlewares: [], service: "asked", rule: "PathPrefix(`/oauth2/`)" },
            own: { ...guarded, rule: "Host(`localhost`)" },
            ...Object.fromEntries(others),
          },
          middlewares: {
            auth: {
              forwardAuth: {
                address: `http://127.0.0.1:${asked.port}/oauth2/auth`,
                authResponseHeaders: ["X-Auth-Request-Email"],
              },
            },
          },
          services: {
            up: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${upstream}` }] } },
            asked: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${asked.port}` }] } },
          },
        },
        ...(tls && { tls: { certificates: [{ certFile: tls.certificateFile, keyFile: tls.keyFile }] } }),
      }),
    );
    await writeFile(
      config,
      JSON.stringify({
        global: { checkNewVersion: false, sendAnonymousUsage: false },
        entryPoints: { in: { address: `127.0.0.1:${port}` } },
        providers: { file: { filename: dynamic, watch: false } },
        serversTransport: { maxIdleConnsPerHost: 200 },
        accessLog: { filePath: records, format: "json", bufferingSize: 100 },
        log: { level: "ERROR" },
      }),
    );
    await start([await program("traefik"), `--configFile=${config}`]);
    await untilRouted(setup.origin);
    return {
      records: [records, asked.records],
      credentials: sessionAndBearerOf(setup, "/oauth2/start?rd=%2Fweb%2Fitems"),
    };
  },
};

/** Traefik listens before it has its routes. */
async function untilRouted(origin: string): Promise<void> {
  const send = createSend();
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await send({ method: "GET", url: `${origin}/web/items` }).catch(() => {});
    if (answer !== undefined && answer.status !== 404) return;
    await delay(50);
  }
  throw new Error("Traefik has no routes after 10 s");
}

export const CADDY: Contender = {
  ...ASKED,
  name: "caddy-oauth2-proxy",
  title: "Caddy + oauth2-proxy",
  programs: ["caddy", "oauth2-proxy"],
  record: "access log of Caddy, JSON, with headers, and request log of oauth2-proxy, files",
  notes:
    "`forward_auth`. Two records a request, one log for all sites. No rule on tools. With 1,000 routes it tries one site after the other, long names first, so that the one asked comes last.",
  async start(setup) {
    const { directory, port, origin, upstream, hosts, tls, program, start } = setup;
    const asked = await startAsked(setup);
    const records = join(directory, "access.log");
    const config = join(directory, "Caddyfile");
    const kept = "transport http {\n\t\t\tkeepalive_idle_conns_per_host 200\n\t\t}";
    const site = (address: string): string => `${address} {
	bind 127.0.0.1
	${tls ? `tls ${tls.certificateFile} ${tls.keyFile}` : ""}
	log
	handle /oauth2/* {
		reverse_proxy 127.0.0.1:${asked.port}
	}
	handle {
		forward_auth 127.0.0.1:${asked.port} {
			uri /oauth2/auth
			copy_headers X-Auth-Request-Email
			${kept}
			@refused status 401
			handle_response @refused {
				redir * /oauth2/start?rd={http.request.uri} 302
			}
		}
		reverse_proxy 127.0.0.1:${upstream} {
			${kept}
		}
	}
}
`;
    const scheme = new URL(origin).protocol;
    // One log for all sites: each line is compared with each log.
    await writeFile(
      config,
      `{
	admin off
	auto_https off
	persist_config off
	log default {
		exclude http.log.access
	}
	log access {
		output file ${records}
		include http.log.access
	}
}
${["localhost", ...hosts].map((host) => site(`${scheme}//${host}:${port}`)).join("")}`,
    );
    const env = { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
    await start([await program("caddy"), "run", "--config", config, "--adapter", "caddyfile"], {
      env,
      patienceMs: 30_000,
    });
    return { records: [records, asked.records], credentials: sessionAndBearerOf(setup) };
  },
};
