/** Everything around the story, on loopback: the company's sign-in, the ticket desk, a gateway with two workers. */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { parse } from "yaml";

import { freePort } from "../../test/support/ports.ts";
import { POLL_MS } from "../../test/support/limits.ts";
import type { Closable } from "../../runtime/shared/clock.ts";
import { runGateway, type RunningGateway } from "../../test/support/run-gateway.ts";
import { createBrowser, type Browser } from "../../test/support/browser.ts";
import { type DemoUser, startIdentityProvider } from "../demo/identity-provider.ts";
import { type ConnectedClient, connectClient } from "../demo/mcp-client.ts";
import { visit } from "../demo/person.ts";
import { createOwned } from "../demo/owned.ts";
import { type Chat, startChat } from "./chat.ts";
import { type DeskServer, startDesk } from "./desk.ts";
import { createPublisher } from "./publisher.ts";

export const SUE: DemoUser = { id: "u-sue", email: "sue@example.com", name: "Sue of Support", groups: ["support"] };
export const FRED: DemoUser = { id: "u-fred", email: "fred@example.com", name: "Fred of Finance", groups: ["finance"] };
export const EVE: DemoUser = { id: "u-eve", email: "eve@example.com", name: "Eve Elsewhere", groups: ["sales"] };

export type AuthorizationRecord = Readonly<Record<string, unknown>>;

export interface Stage {
  readonly origin: string;
  /** Address of the desk's MCP endpoint, at the gateway. */
  readonly server: string;
  readonly desk: DeskServer;
  /** Where the webhook is received. */
  readonly chat: Chat;
  readonly gateway: RunningGateway;
  /** The slice with the addresses of this stage, and what is proposed in its place. */
  readonly slice: string;
  readonly proposal: string;
  /** A copy of the configuration with another slice, for commands. @returns its directory */
  copyWith(slice: string): Promise<string>;
  /** Replaces the slice; resolves once all workers have it. @returns what Terraform said, or nothing without it */
  publish(slice: string): Promise<string>;
  /** What `terraform plan` says of another slice. */
  plan(slice: string): Promise<string>;
  /** Signs in and connects an agent with one of the two SDKs. */
  connect(user: DemoUser, sdk: "v1" | "v2"): Promise<ConnectedClient>;
  /** Where the lock of the reviewed tools lies; it is published with the slice. */
  readonly lockFile: string;
  /** A file with a token, for commands that ask as its user. */
  tokenFile(client: ConnectedClient): Promise<string>;
  /** The file with authorization records. */
  readonly recordFile: string;
  /** The first record that fits, once it is written. @throws Error when there is none */
  record(fits: (record: AuthorizationRecord) => boolean): Promise<AuthorizationRecord>;
  /** Is closed with the stage. */
  own<T extends Closable>(part: T): T;
  close(): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const { own, close } = createOwned();
  try {
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const signIn = `http://127.0.0.1:${port}`;
    const secret = randomUUID();
    const redirectUris = [`${signIn}/.gateway/callback`];
    const clients = [{ client_id: "gateway", client_secret: secret, redirect_uris: redirectUris }];
    const provider = own(await startIdentityProvider({ clients, users: [SUE, FRED, EVE] }));
    const [desk, chat] = [own(await startDesk()), own(await startChat())];
    // The desk is on loopback, where an owner's upstream may not be otherwise.
    const localize = (text: string): string =>
      text
        .replace("allowed_from: [mcp.example.com]", "$&\n    allow_local_upstreams: true")
        .replaceAll("https://auth.example.com", signIn)
        .replaceAll("https://mcp.example.com", origin)
        .replaceAll("mcp.example.com", "localhost")
        .replaceAll("https://login.example.com", provider.issuer)
        .replaceAll("https://chat.example.com/gateway", chat.url)
        .replaceAll("http://desk.internal:3000", desk.origin);
    const file = (name: string): string => localize(readFileSync(new URL(name, import.meta.url), "utf8"));

    // For the gateway, and for commands that read the same configuration.
    Object.assign(process.env, {
      IDP_CLIENT_SECRET: secret,
      WEBHOOK_SECRET: chat.secret,
      RECORD_KEY: randomBytes(32).toString("base64"),
    });

    // The company's provider is on loopback here, without TLS; keys and records are the run's own.
    const boot = Object.entries(parse(file("gateway.yaml")) as Record<string, unknown>).filter(
      ([key]) => !OWN.has(key),
    );
    const gateway = own(
      await runGateway({
        workers: 2,
        boot: { ...Object.fromEntries(boot), address: `127.0.0.1:${port}` },
        yaml: "",
      }),
    );
    const publisher = own(await createPublisher(gateway));
    const recordFile = join(gateway.directory, "authorize.log");
    const browsers = new Map<string, Browser>();
    const browserOf = (user: DemoUser): Browser => {
      const found = browsers.get(user.id) ?? createBrowser();
      browsers.set(user.id, found);
      return found;
    };
    const server = `${origin}/desk/mcp`;
    return {
      origin,
      server,
      desk,
      chat,
      gateway,
      slice: file("desk.yaml"),
      proposal: file("desk-next.yaml"),
      async copyWith(slice) {
        const directory = await mkdtemp(join(tmpdir(), "gateway-proposal-"));
        own({ close: () => rm(directory, { recursive: true, force: true }) });
        await copyFile(join(gateway.directory, "gateway.yaml"), join(directory, "gateway.yaml"));
        await writeFile(join(directory, "desk.yaml"), slice);
        return directory;
      },
      async publish(slice) {
        const digests = async (): Promise<readonly unknown[]> => (await gateway.workers()).map(({ digest }) => digest);
        const [before] = await digests();
        const said = await publisher.apply(slice);
        for (const until = Date.now() + POLL_MS; Date.now() < until; await pause(20)) {
          const now = await digests();
          if (new Set(now).size === 1 && now[0] !== before) return said;
        }
        throw new Error(`not live:\n${gateway.log().slice(-2000)}`);
      },
      plan: (slice) => publisher.plan(slice),
      connect: (user, sdk) =>
        connectClient(sdk, server, async (authorize) => {
          const page = await visit(browserOf(user), authorize.href, {
            user: user.email,
            stopAt: "http://127.0.0.1:33418",
          });
          return new URL(page.url);
        }).then(own),
      lockFile: publisher.lockFile,
      async tokenFile(client) {
        const file = join(gateway.directory, `token-${randomUUID()}`);
        await writeFile(file, client.token(), { mode: 0o600 });
        return file;
      },
      recordFile,
      async record(fits) {
        for (const until = Date.now() + POLL_MS; Date.now() < until; await pause(20)) {
          const lines = (await readFile(recordFile, "utf8")).split("\n").filter((line) => line.endsWith("}"));
          const found = lines.map((line) => JSON.parse(line) as AuthorizationRecord).find(fits);
          if (found) return found;
        }
        throw new Error("there is no such record");
      },
      own,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the run has its own of, where the file names the environment. */
const OWN = new Set(["admin_address", "admin_token_ref", "shared_secret_ref", "storage_url_ref", "authorize_log"]);
