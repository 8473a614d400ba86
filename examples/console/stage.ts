/** Everything around the story, on loopback: the company's sign-in, two servers of tools, two replicas on one database behind a balancer. */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { parse } from "yaml";

import { freePort } from "../../test/support/ports.ts";
import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { type Browser, createBrowser, createSend } from "../../test/support/browser.ts";
import { findPostgres, startPostgres } from "../../test/support/postgres.ts";
import { ADMIN_TOKEN, runGateway, type RunningGateway } from "../../test/support/run-gateway.ts";
import { type DemoUser, startIdentityProvider } from "../demo/identity-provider.ts";
import { type ConnectedClient, connectClient } from "../demo/mcp-client.ts";
import { createOwned } from "../demo/owned.ts";
import { visit } from "../demo/person.ts";
import { type Balancer, startBalancer } from "../enterprise/balancer.ts";
import { type DeskServer, startDesk } from "../tool-policy/desk.ts";

export const ALICE: DemoUser = { id: "u-alice", email: "alice@example.com", name: "Alice", groups: ["platform"] };
export const BOB: DemoUser = { id: "u-bob", email: "bob@example.com", name: "Bob", groups: ["payments"] };

/** Names that somebody chose to do harm with. */
export const MARKUP_TOOL = "<img src=x onerror=alert(1)>";
export const TURNED_TOOL = "list_\u202Eeteled";

export type Replica = 0 | 1;

export interface Stage {
  readonly storage: "PostgreSQL" | "SQLite";
  /** "http://127.0.0.1:18680/.gateway/console" */
  readonly home: string;
  readonly origin: string;
  /** MCP endpoints of the two teams, at the gateway. */
  readonly payments: string;
  readonly tickets: string;
  readonly desk: DeskServer;
  readonly balancer: Balancer;
  /** The slices with the addresses of this stage. */
  readonly slices: { readonly payments: string; readonly tickets: string };
  /** As the Terraform provider publishes, with its own code; resolves once both replicas have it. */
  publishAsTerraform(slice: string): Promise<void>;
  /** As the job of a pipeline does. */
  publishAsJob(slice: string): Promise<void>;
  /** Into the configuration's directory, which both replicas watch. */
  write(name: string, text: string): void;
  /** Of both replicas: the digest that they have in force. */
  digests(): Promise<readonly string[]>;
  /** Kills the process of a replica. */
  kill(replica: Replica): Promise<void>;
  /** Starts another process in its place. */
  restart(replica: Replica): Promise<void>;
  /** Signs in and connects an agent. */
  connect(user: DemoUser, server: string, sdk: "v1" | "v2"): Promise<ConnectedClient>;
  /** What a replica answers to a browser with these cookies. */
  statusAt(replica: Replica, path: string, cookie: string): Promise<number>;
  close(): Promise<void>;
}

/** What the run has its own of, where the file names the environment. */
const OWN = new Set(["admin_address", "admin_token_ref", "shared_secret_ref", "storage_url_ref"]);

export async function startStage(): Promise<Stage> {
  const { own, close } = createOwned();
  try {
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const signIn = `http://127.0.0.1:${port}`;
    const secret = randomUUID();
    const clients = [{ client_id: "gateway", client_secret: secret, redirect_uris: [`${signIn}/.gateway/callback`] }];
    const provider = own(await startIdentityProvider({ clients, users: [ALICE, BOB] }));
    const [desk, tickets] = [own(await startDesk()), own(await startDesk([MARKUP_TOOL, TURNED_TOOL]))];
    // What is on loopback here, without TLS, is elsewhere in a company.
    const localize = (text: string): string =>
      text
        .replaceAll("{ allowed_from: [mcp.example.com] }", "{ allowed_from: [localhost], allow_local_upstreams: true }")
        .replaceAll("https://auth.example.com", signIn)
        .replaceAll("https://mcp.example.com", origin)
        .replaceAll("https://login.example.com", provider.issuer);
    const file = (name: string): string => localize(readFileSync(new URL(name, import.meta.url), "utf8"));
    const found = findPostgres();
    const postgres = "missing" in found ? undefined : own(await startPostgres(found.bin));
    const boot = Object.entries(parse(file("gateway.yaml")) as Record<string, unknown>).filter(
      ([key]) => !OWN.has(key),
    );
    const env = { IDP_CLIENT_SECRET: secret };
    const first = own(
      await runGateway({
        env,
        boot: {
          ...Object.fromEntries(boot),
          address: "127.0.0.1:0",
          authorize_log: "stdout",
          shared_secret: randomBytes(32).toString("base64"),
          ...(postgres && { storage_url: postgres.url }),
        },
        yaml: "",
      }),
    );
    const start = async (): Promise<RunningGateway> => own(await runGateway({ env, replicaOf: first }));
    const replicas = [first, await start()];
    const portOf = ({ origin: listens }: RunningGateway): number => Number(new URL(listens).port);
    const ports = replicas.map(portOf);
    const balancer = own(await startBalancer(port, ports));
    const replicaOf = (replica: Replica): RunningGateway => replicas[replica] ?? first;

    const browsers = new Map<string, Browser>();
    const browserOf = (user: DemoUser): Browser => {
      const known = browsers.get(user.id) ?? createBrowser();
      browsers.set(user.id, known);
      return known;
    };
    const digestOf = async (owner: string): Promise<string | undefined> => {
      const slices = (await replicaOf(1).admin.get("/config/slices")).body["slices"] as Slice[];
      return slices.find((each) => each.owner === owner)?.digest;
    };
    const bundleOf = async ({ admin }: RunningGateway): Promise<Bundle> =>
      (await admin.get("/status")).body["bundle"] as Bundle;
    return {
      storage: postgres ? "PostgreSQL" : "SQLite",
      home: `${signIn}/.gateway/console`,
      origin,
      payments: `${origin}/payments/mcp`,
      tickets: `${origin}/tickets/mcp`,
      desk,
      balancer,
      slices: {
        payments: file("payments.yaml").replace("http://desk.internal:3000", desk.origin),
        tickets: file("tickets.yaml").replace("http://desk.internal:3000", tickets.origin),
      },
      async publishAsTerraform(slice) {
        const url = replicaOf(1).adminOrigin;
        const target = createHttpTarget({ url, owner: "payments", token: async () => ADMIN_TOKEN });
        await target.write(slice, (await digestOf("payments")) ?? null);
      },
      async publishAsJob(slice) {
        const known = await digestOf("tickets");
        const condition = known === undefined ? { "if-none-match": "*" } : { "if-match": `"${known}"` };
        const headers = { "user-agent": "release-job/7", authorization: `Bearer ${ADMIN_TOKEN}`, ...condition };
        const { status, text } = await replicaOf(1).admin.ask("PUT", "/config/slices/tickets", headers, slice);
        if (status >= 300) throw new Error(text);
      },
      write: (name, text) => first.write(name, text),
      digests: () => Promise.all(replicas.map(async (each) => (await bundleOf(each)).digest)),
      async kill(replica) {
        replicaOf(replica).process.kill("SIGKILL");
        await replicaOf(replica).ended;
      },
      async restart(replica) {
        replicas[replica] = await start();
        ports[replica] = portOf(replicaOf(replica));
      },
      connect: (user, server, sdk) =>
        connectClient(sdk, server, async (authorize) => {
          const stopAt = "http://127.0.0.1:33418";
          return new URL((await visit(browserOf(user), authorize.href, { user: user.email, stopAt })).url);
        }).then(own),
      async statusAt(replica, path, cookie) {
        const send = createSend({ via: ports[replica] ?? 0 });
        const url = `${signIn}/.gateway/console${path}`;
        return (await send({ method: "GET", url, headers: { cookie, "sec-fetch-mode": "navigate" } })).status;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Bundle {
  readonly digest: string;
}

interface Slice {
  readonly owner: string;
  readonly digest: string;
}
