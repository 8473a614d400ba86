/** Everything around the story, on loopback: two replicas on one database behind a load balancer, and whom they deal with. */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";

import { freePort } from "../../test/support/ports.ts";
import type { BundleStatus } from "../../runtime/bundle/report.ts";
import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { type FakeVault, startFakeVault } from "../../test/support/fake-vault.ts";
import { findPostgres, startPostgres } from "../../test/support/postgres.ts";
import { createOwned } from "../demo/owned.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { type BuildsServer, startBuildsServer } from "./builds.ts";
import { type CiPlatform, startCiPlatform } from "./ci-platform.ts";
import { type CodeHost, startCodeHost } from "./code-host.ts";
import { type Company, startCompany, startSubsidiary } from "./company.ts";
import { createDirectory, type Directory } from "./directory.ts";

export interface Stage {
  /** What everybody but the replicas knows: "http://localhost:8080". */
  readonly origin: string;
  /** What both replicas keep their records in. */
  readonly storage: "PostgreSQL" | "SQLite";
  readonly company: Company;
  /** The company's provider, where it tells the gateway who there is. */
  readonly directory: Directory;
  readonly ci: CiPlatform;
  readonly builds: BuildsServer;
  readonly codeHost: CodeHost;
  /** Where the secrets are. */
  readonly vault: FakeVault;
  readonly balancer: Balancer;
  /** Boot file of the first replica, for commands. */
  readonly configFile: string;
  /** Admin listener of the first replica: where the pipeline publishes. */
  readonly adminOrigin: string;
  /** What a replica says of its configuration. */
  status(replica: Replica): Promise<BundleStatus>;
  /** Authorization records of a replica, oldest first. */
  records(replica: Replica): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** What both, and the code host's gateway, have logged. */
  log(): string;
  /** What must stand in no log. */
  readonly secrets: readonly string[];
  close(): Promise<void>;
}

export type Replica = 0 | 1;
export const REPLICAS: readonly Replica[] = [0, 1];

export async function startStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-enterprise-"));
  const { own, close } = createOwned();
  own({ close: () => rm(directory, { recursive: true, force: true }) });
  try {
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const found = findPostgres();
    const postgres = "missing" in found ? undefined : own(await startPostgres(found.bin));
    let logged = "";
    const destination = new Writable({
      write(chunk: Buffer, _encoding, done) {
        logged += chunk.toString();
        done();
      },
    });
    const log = createLog({ level: "info", destination });

    const keys = { idp: randomUUID(), subsidiary: randomUUID(), directory: randomUUID(), builds: randomUUID() };
    const company = own(await startCompany({ origin, secret: keys.idp }));
    const subsidiary = own(await startSubsidiary({ origin, secret: keys.subsidiary }));
    const [ci, builds] = [own(await startCiPlatform()), own(await startBuildsServer(keys.builds))];
    const codeHost = own(await startCodeHost({ directory, customer: company.issuer, log }));
    const env = {
      GATEWAY_ADMIN_TOKEN: randomUUID(),
      GATEWAY_SHARED_SECRET: randomBytes(32).toString("base64"),
      GATEWAY_STORAGE_URL: postgres?.url ?? `sqlite:${join(directory, "gateway.db")}`,
      VAULT_SECRET_ID: randomUUID(),
    };
    Object.assign(process.env, env);
    const vault = own(await startFakeVault({ clock: systemClock }));
    vault.login("approle", { role_id: "gateway", secret_id: env.VAULT_SECRET_ID });
    vault.write("kv/data/gateway", { idp_client_secret: keys.idp, subsidiary_client_secret: keys.subsidiary });
    vault.write("kv/data/directory", { token: keys.directory });
    vault.write("kv/data/builds", { key: keys.builds });
    vault.write("kv/data/code", { client_secret: codeHost.client.secret });

    const bootFile = (await readFile(new URL("gateway.yaml", import.meta.url), "utf8"))
      .replaceAll("https://mcp.example.com", origin)
      .replaceAll("mcp.example.com", "localhost")
      .replaceAll("https://login.example.com", company.issuer)
      .replaceAll("https://login.subsidiary.example", subsidiary.issuer)
      .replaceAll("https://ci.example.com", ci.issuer)
      .replaceAll("http://builds.internal:3000", builds.origin)
      .replaceAll("https://mcp.code.example", codeHost.origin)
      .replaceAll("mcp.code.example", "localhost")
      .replaceAll("gateway-of-example-corp", codeHost.client.id)
      .replaceAll("https://vault.example.com:8200", vault.origin)
      .replace("admin_address: 127.0.0.1:9901", "admin_address: 127.0.0.1:0");
    const recordFile = (replica: Replica): string => join(directory, `authorize-${replica}.log`);
    const configFile = (replica: Replica): string => join(directory, `replica-${replica}`, "gateway.yaml");
    const gateways: Gateway[] = [];
    for (const replica of REPLICAS) {
      // The company's provider is on loopback here, without TLS.
      const ofReplica = `development: true\naddress: 127.0.0.1:0\nauthorize_log: ${recordFile(replica)}\n`;
      await mkdir(join(directory, `replica-${replica}`));
      await writeFile(configFile(replica), bootFile.replace("address: :8080\n", ofReplica), { mode: 0o600 });
      gateways.push(own(await startGateway({ config: configFile(replica), log })));
    }
    const ports = gateways.map((gateway) => gateway.port);
    const balancer = own(await startBalancer(port, ports));
    return {
      origin,
      storage: postgres ? "PostgreSQL" : "SQLite",
      company,
      directory: createDirectory(`${origin}/.gateway/scim/v2/company`, keys.directory),
      ci,
      builds,
      codeHost,
      vault,
      balancer,
      configFile: configFile(0),
      adminOrigin: gateways[0]?.adminOrigin ?? "",
      async status(replica) {
        const headers = { authorization: `Bearer ${env.GATEWAY_ADMIN_TOKEN}` };
        const answer = await fetch(`${gateways[replica]?.adminOrigin}/status`, { headers });
        return ((await answer.json()) as { readonly bundle: BundleStatus }).bundle;
      },
      async records(replica) {
        await gateways[replica]?.flushRecords();
        const lines = (await readFile(recordFile(replica), "utf8")).split("\n").filter((line) => line !== "");
        return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      },
      log: () => logged,
      secrets: [
        ...Object.values(keys),
        ...Object.values(env).filter((each) => !each.startsWith("sqlite:")),
        company.assistant.clientSecret,
        codeHost.client.secret,
        String(process.env["CODE_HOST_SHARED_SECRET"]),
      ],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
