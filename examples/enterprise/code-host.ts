/**
 * A code host, at another company: an MCP server behind a gateway of its own (code-host.yaml), which is its authorization
 * server and takes the word of its customers' identity providers.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../test/support/ports.ts";
import { startGateway } from "../../runtime/gateway.ts";
import type { Log } from "../../runtime/shared/log.ts";
import { runCommand } from "../../test/support/run-command.ts";
import { startMcpServer } from "../demo/mcp-server.ts";
import { createOwned } from "../demo/owned.ts";

export interface CodeHost {
  /** "http://localhost:8081" */
  readonly origin: string;
  /** The customer's gateway, as this authorization server knows it. */
  readonly client: Credentials;
  /** Its authorization records, as lines of JSON. */
  records(): Promise<string>;
  close(): Promise<void>;
}

export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

export interface CodeHostOptions {
  /** For its files. */
  readonly directory: string;
  /** Issuer identifier of the customer's identity provider. */
  readonly customer: string;
  readonly log: Log;
}

export async function startCodeHost({ directory, customer, log }: CodeHostOptions): Promise<CodeHost> {
  const { own, close } = createOwned();
  try {
    const home = join(directory, "code-host");
    await mkdir(home);
    const [config, recordFile] = [join(home, "gateway.yaml"), join(home, "authorize.log")];
    const repositories = own(await startMcpServer());
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    Object.assign(process.env, {
      CODE_HOST_SHARED_SECRET: randomBytes(32).toString("base64"),
      CODE_HOST_STORAGE_URL: `sqlite:${join(home, "gateway.db")}`,
    });
    const bootFile = (await readFile(new URL("code-host.yaml", import.meta.url), "utf8"))
      .replace("address: :8080\n", `development: true\naddress: 127.0.0.1:${port}\nauthorize_log: ${recordFile}\n`)
      .replace("admin_address: 127.0.0.1:9901", "admin_address: 127.0.0.1:0")
      .replace("https://mcp.code.example", origin)
      .replace("https://login.example.com", customer)
      .replace("http://repositories.internal:3000", repositories.origin);
    await writeFile(config, bootFile, { mode: 0o600 });
    const gateway = own(await startGateway({ config, log }));
    return {
      origin,
      client: await createClient("Gateway of Example Corp", origin, config),
      async records() {
        await gateway.flushRecords();
        return readFile(recordFile, "utf8");
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What an administrator does once for a client that an identity provider can name. */
export async function createClient(name: string, issuer: string, config: string): Promise<Credentials> {
  const flags = ["--name", name, "--id-jag", "--issuer", issuer, "--config", config];
  const { code, out, err } = await runCommand("client", "create", ...flags);
  if (code !== 0) throw new Error(err);
  const made = JSON.parse(out) as { readonly client_id: string; readonly client_secret: string };
  return { id: made.client_id, secret: made.client_secret };
}
