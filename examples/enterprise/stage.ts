/** Everything around the story, on loopback: two replicas on one database behind a load balancer, the company, the CI platform. */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";

import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { findPostgres, startPostgres } from "../../test/support/postgres.ts";
import { createOwned } from "../demo/owned.ts";
import { findPort } from "../demo/stage.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { type BuildsServer, startBuildsServer } from "./builds.ts";
import { type CiPlatform, startCiPlatform } from "./ci-platform.ts";
import { type Company, startCompany } from "./company.ts";

export interface Stage {
  /** What everybody but the replicas knows: "http://localhost:8080". */
  readonly origin: string;
  /** What both replicas keep their records in. */
  readonly storage: "PostgreSQL" | "SQLite";
  readonly company: Company;
  readonly ci: CiPlatform;
  readonly builds: BuildsServer;
  readonly balancer: Balancer;
  /** Of the first replica: where the pipeline publishes. */
  readonly adminOrigin: string;
  /** Boot file of the first replica, for commands. */
  readonly configFile: string;
  /** Authorization records of a replica, oldest first. */
  records(replica: number): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** What both have logged. */
  log(): string;
  close(): Promise<void>;
}

const REPLICAS = [0, 1];

export async function startStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-enterprise-"));
  const { own, close } = createOwned();
  own({ close: () => rm(directory, { recursive: true, force: true }) });
  try {
    const port = await findPort(18480);
    const origin = `http://localhost:${port}`;
    const found = findPostgres();
    const postgres = "missing" in found ? undefined : own(await startPostgres(found.bin));
    const idpSecret = randomUUID();
    const company = own(await startCompany({ origin, secret: idpSecret }));
    const [ci, builds] = [own(await startCiPlatform()), own(await startBuildsServer())];
    Object.assign(process.env, {
      GATEWAY_SHARED_SECRET: randomBytes(32).toString("base64"),
      GATEWAY_STORAGE_URL: postgres?.url ?? `sqlite:${join(directory, "gateway.db")}`,
      IDP_CLIENT_SECRET: idpSecret,
    });

    const bootFile = (await readFile(new URL("gateway.yaml", import.meta.url), "utf8"))
      .replaceAll("https://mcp.example.com", origin)
      .replaceAll("mcp.example.com", "localhost")
      .replaceAll("https://login.example.com", company.issuer)
      .replaceAll("https://ci.example.com", ci.issuer)
      .replaceAll("http://builds.internal:3000", builds.origin)
      .replace("admin_address: 127.0.0.1:9901", "admin_address: 127.0.0.1:0");
    let logged = "";
    const destination = new Writable({
      write(chunk: Buffer, _encoding, done) {
        logged += chunk.toString();
        done();
      },
    });
    const log = createLog({ level: "info", destination });
    const recordFile = (replica: number): string => join(directory, `authorize-${replica}.log`);
    const configFile = (replica: number): string => join(directory, `replica-${replica}`, "gateway.yaml");
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
      ci,
      builds,
      balancer,
      adminOrigin: gateways[0]?.adminOrigin ?? "",
      configFile: configFile(0),
      async records(replica) {
        await gateways[replica]?.flushRecords();
        const lines = (await readFile(recordFile(replica), "utf8")).split("\n").filter((line) => line !== "");
        return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      },
      log: () => logged,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
