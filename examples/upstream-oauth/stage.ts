/** A gateway on loopback that serves what a program publishes, with the demo's identity provider. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";

import type { TerraformStack } from "cdktf";

import { synthBundle } from "../../cdktf/testing.ts";
import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { startIdentityProvider } from "../demo/identity-provider.ts";

export interface SmallStage {
  readonly gateway: Gateway;
  /** What the gateway has logged. */
  log(): string;
  close(): Promise<void>;
}

/**
 * @param stack the program, with one gateway in it
 * @param owner of the program's slice; it may refer to secrets of the environment whose names are in `secrets`
 */
export async function startSmallStage(
  port: number,
  stack: TerraformStack,
  owner: string,
  secrets: readonly string[] = [],
): Promise<SmallStage> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-example-"));
  const identityProvider = await startIdentityProvider({
    clients: [
      {
        client_id: "gateway",
        client_secret: "secret-of-the-gateway",
        redirect_uris: [`http://localhost:${port}/.gateway/callback`],
      },
    ],
  });
  const boot = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    insecure_server: true,
    development: true,
    shared_secret: randomBytes(32).toString("base64"),
    storage_url: "memory:",
    authorize_log: join(directory, "authorize.log"),
    owners: {
      [owner]: {
        allowed_refs: secrets.map((name) => `env:${name}`),
        allowed_settings: ["*"],
        allowed_tokens: ["external"],
        allow_local_upstreams: true,
      },
    },
    idp_provider_url: identityProvider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret-of-the-gateway",
  };
  // JSON is YAML.
  await writeFile(join(directory, "gateway.yaml"), JSON.stringify(boot), { mode: 0o600 });
  await writeFile(join(directory, `${owner}.json`), JSON.stringify(synthBundle(stack)));
  let text = "";
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const gateway = await startGateway({ config: directory, log: createLog({ level: "info", destination }) });
  return {
    gateway,
    log: () => text,
    async close() {
      await gateway.close();
      await identityProvider.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
