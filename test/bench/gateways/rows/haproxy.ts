/** HAProxy, which verifies a JWT itself. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { bearerOf, type Contender } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";
import { DENIED_PREFIX } from "../sizes.ts";

export const HAPROXY_ROW: Contender = {
  name: "haproxy-jwt",
  title: "HAProxy, JWT",
  programs: ["haproxy"],
  identity: "bearer JWT (RS256), verified each time: signature, issuer, audience, expiry",
  policy: "email claim; tool's name by `json_query` on the buffered body",
  record: "JSON line, standard output to a file, one write a line: it has no buffer for them",
  notes:
    "No sign-in, no sessions; its rule on tools looks at one member of the body, and it cannot filter lists. A batch of messages passes that rule, as does a name after the first 16 KiB of a body. One thread.",
  cannot: {},
  showsAllTools: true,
  async start(setup) {
    const { directory, port, upstream, hosts, tls, issuer, program, start } = setup;
    const key = join(directory, "issuer.pem");
    await writeFile(key, issuer.publicKey);
    let ssl = "";
    if (tls) {
      const pem = join(directory, "server.pem");
      await writeFile(pem, (await readFile(tls.certificateFile, "utf8")) + (await readFile(tls.keyFile, "utf8")));
      ssl = ` ssl crt ${pem} alpn h2,http/1.1`;
    }
    const map = join(directory, "hosts.map");
    await writeFile(map, hosts.map((host, index) => `${host} up${index}\n`).join(""));
    const backends = ["up", ...hosts.map((_, index) => `up${index}`)].map(
      (name) => `backend ${name}\n  server up 127.0.0.1:${upstream}\n`,
    );
    const config = join(directory, "haproxy.cfg");
    const claim = (name: string, type = ""): string => `http_auth_bearer,jwt_payload_query('$.${name}'${type})`;
    await writeFile(
      config,
      `global
  nbthread 1
  maxconn 9000
  tune.ssl.default-dh-param 2048
defaults
  mode http
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  option http-keep-alive
  http-reuse always
frontend in
  bind 127.0.0.1:${port}${ssl}
  log stdout format raw local0
  log-format '{"time":"%Tl","user":"%[var(txn.email)]","method":"%HM","path":"%HP","status":%ST}'
  http-request set-var(txn.token) http_auth_bearer
  http-request set-var(txn.alg) http_auth_bearer,jwt_header_query('$.alg')
  http-request set-var(txn.iss) ${claim("iss")}
  http-request set-var(txn.aud) ${claim("aud")}
  http-request set-var(txn.exp) ${claim("exp", ",'int'")}
  http-request set-var(txn.email) ${claim("email")}
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
  http-request deny deny_status 401 unless { var(txn.iss) -m str ${issuer.url} }
  http-request deny deny_status 401 unless { var(txn.aud) -m str ${AUDIENCE} }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(txn.alg,"${key}") -m int 1 }
  http-request deny deny_status 401 if { var(txn.exp),sub(txn.now) -m int lt 0 }
  http-request deny deny_status 403 unless { var(txn.email) -m str alice@example.com }
  http-request wait-for-body time 10s if { path /tool }
  http-request deny deny_status 403 if { path /tool } { req.body,json_query('$.params.name') -m beg ${DENIED_PREFIX} }
  ${hosts.length > 0 ? `use_backend %[req.hdr(host),field(1,:),lower,map_str(${map},up)]` : "default_backend up"}
${backends.join("")}`,
    );
    await start([await program("haproxy"), "-db", "-f", config]);
    return { records: [join(directory, "process-0.out")], credentials: bearerOf(setup) };
  },
};
