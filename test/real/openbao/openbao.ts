/** A real OpenBao on loopback with its storage on disk, so that it can be sealed, ended and started again. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "../../support/ports.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import { installOpenBao } from "./install.ts";

export interface OpenBao {
  readonly origin: string;
  /** For files of a test. */
  readonly directory: string;
  /** A request with the root token. @throws Error for another answer than 2xx */
  root<T = unknown>(method: string, path: string, body?: unknown, namespace?: string): Promise<T>;
  unseal(): Promise<void>;
  stop(): Promise<void>;
  /** Again at the same address, and unsealed. */
  start(): Promise<void>;
  /** `bao proxy` before it, which logs in as an AppRole. */
  startProxy(roleId: string, secretId: string): Promise<{ readonly origin: string; readonly tokenFile: string }>;
  close(): Promise<void>;
}

export async function startOpenBao(): Promise<OpenBao> {
  const program = await installOpenBao();
  const directory = await mkdtemp(join(tmpdir(), "gateway-openbao-"));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = join(directory, "server.hcl");
  await mkdir(join(directory, "data"));
  await writeFile(
    config,
    `storage "raft" {
  path = "${directory}/data"
  node_id = "only"
}
api_addr = "${origin}"
cluster_addr = "http://127.0.0.1:${await freePort()}"
listener "tcp" {
  address = "127.0.0.1:${port}"
  tls_disable = true
}
`,
  );
  let server: RealProcess | undefined;
  const proxies: RealProcess[] = [];
  let key = "";
  let token = "";

  const send = async <T>(method: string, path: string, body?: unknown, namespace?: string): Promise<T> => {
    const answer = await fetch(`${origin}/v1/${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token !== "" && { "x-vault-token": token }),
        ...(namespace !== undefined && { "x-vault-namespace": namespace }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  };

  const bao: OpenBao = {
    origin,
    directory,
    root: send,
    async unseal() {
      await send("PUT", "sys/unseal", { key });
      // It elects itself first.
      while (!(await fetch(`${origin}/v1/sys/health`)).ok) await delay(50);
    },
    async stop() {
      await server?.close("SIGKILL");
      server = undefined;
    },
    async start() {
      server = await startProcess(program, ["server", `-config=${config}`], /server started!/i);
      if (key === "") {
        const shares = { secret_shares: 1, secret_threshold: 1 };
        const made = await send<{ keys: string[]; root_token: string }>("PUT", "sys/init", shares);
        [key = ""] = made.keys;
        token = made.root_token;
      }
      await bao.unseal();
    },
    async startProxy(roleId, secretId) {
      const at = join(directory, `proxy-${proxies.length}`);
      const tokenFile = `${at}.token`;
      const proxyPort = await freePort();
      await writeFile(`${at}.role`, roleId);
      await writeFile(`${at}.secret`, secretId);
      await writeFile(
        `${at}.hcl`,
        `vault { address = "${origin}" }
auto_auth {
  method "approle" {
    config = {
      role_id_file_path = "${at}.role"
      secret_id_file_path = "${at}.secret"
      remove_secret_id_file_after_reading = false
    }
  }
  sink "file" { config = { path = "${tokenFile}" } }
}
api_proxy { use_auto_auth_token = true }
listener "tcp" {
  address = "127.0.0.1:${proxyPort}"
  tls_disable = true
  require_request_header = true
}
`,
      );
      proxies.push(await startProcess(program, ["proxy", `-config=${at}.hcl`], /token written/i));
      return { origin: `http://127.0.0.1:${proxyPort}`, tokenFile };
    },
    async close() {
      for (const proxy of proxies) await proxy.close();
      await bao.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
  await bao.start();
  return bao;
}
