/**
 * Everything the demo needs around the program: identity provider, MCP server, web application, the steps from the
 * program to a published bundle, and the gateway that serves it. All on loopback; files only in one temporary folder.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LONG_MS } from "../../test/support/limits.ts";
import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { DEMO_USERS, type DemoUser, type IdentityProvider, startIdentityProvider } from "./identity-provider.ts";
import { createOwned } from "./owned.ts";
import { CLIENT } from "./services.ts";
import { type RunningMcpServer, startMcpServer } from "./mcp-server.ts";
import { TRAFFIC_USERS } from "./traffic/people.ts";
import { INVENTED, publishedSlices, trafficSlices } from "./traffic/slices.ts";
import { type RunningWebApp, startWebApp } from "./web-app.ts";

export interface StageOptions {
  /** Port of the gateway. */
  readonly port: number;
  /** Port of the identity provider; any free one when absent. */
  readonly identityPort?: number;
  readonly users?: readonly DemoUser[];
  /** The program that is synthesized; a TypeScript file that reads its addresses from the environment. */
  readonly program: string;
  /** "stdout", or the name of a file in the stage's directory. */
  readonly authorizeLog?: string;
  /** Adds servers of an invented company, and some hours of traffic to the console. */
  readonly withTraffic?: boolean;
}

export interface Stage {
  /** What users visit, "http://localhost:8080". */
  readonly origin: string;
  /** Where they sign in, and administrators have their console: a host that no application shares. */
  readonly pagesOrigin: string;
  readonly adminOrigin: string;
  readonly identityProvider: IdentityProvider;
  readonly mcpServer: RunningMcpServer;
  readonly webApp: RunningWebApp;
  readonly gateway: Gateway;
  /** How `publish` gets the bundle to the gateway. */
  readonly publisher: "terraform" | "file";
  /** Where authorization records go, when that is a file. */
  readonly directory: string;
  /** Directory of the configuration that the gateway watches. */
  readonly configDirectory: string;
  /** Synthesizes the program and publishes it. @returns what the tool printed */
  publish(): Promise<string>;
  close(): Promise<void>;
}

export async function startStage(options: StageOptions): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-demo-"));
  const configDirectory = join(directory, "config");
  await mkdir(configDirectory);
  const origin = `http://localhost:${options.port}`;
  const pagesOrigin = `http://127.0.0.1:${options.port}`;
  const { own, close } = createOwned();
  own({ close: () => rm(directory, { recursive: true, force: true }) });
  try {
    const identityProvider = own(
      await startIdentityProvider({
        port: options.identityPort ?? 0,
        users: [...(options.users ?? DEMO_USERS), ...(options.withTraffic === true ? TRAFFIC_USERS : [])],
        clients: [
          {
            ...CLIENT,
            redirect_uris: [`${pagesOrigin}/.gateway/callback`],
            post_logout_redirect_uris: [`${pagesOrigin}/.gateway/signed_out`],
          },
        ],
      }),
    );
    const mcpServer = own(await startMcpServer(options.withTraffic === true ? { invented: INVENTED } : {}));
    const webApp = own(await startWebApp({ gateway: origin }));

    const adminToken = randomBytes(24).toString("base64url");
    const versions = publishedSlices(origin, mcpServer.origin);
    const bootFile = join(configDirectory, "gateway.yaml");
    await writeFile(
      bootFile,
      bootSettings(options, { issuer: identityProvider.issuer, pagesOrigin, directory, adminToken }),
      {
        mode: 0o600,
      },
    );
    const environment = {
      DEMO_PORT: String(options.port),
      DEMO_MCP_PORT: new URL(mcpServer.url).port,
      DEMO_APP_PORT: new URL(webApp.origin).port,
      DEMO_DIRECTORY: configDirectory,
      CHECKPOINT_DISABLE: "1",
    };
    const publisher = (await hasTerraform()) ? "terraform" : "file";
    const cliConfigFile =
      publisher === "terraform" ? (await writeDevMirror(join(directory, "mirror"))).cliConfigFile : "";
    let isInitialised = false;

    const publish = async (): Promise<string> => {
      const synthesized = await run(process.execPath, [options.program], directory, environment);
      const stack = join(directory, "cdktf.out", "stacks", "demo");
      if (publisher === "file") {
        await copyFile(join(stack, "gateway.bundle.json"), join(configDirectory, "demo.json.tmp"));
        await rename(join(configDirectory, "demo.json.tmp"), join(configDirectory, "demo.json"));
        return `${synthesized}copied gateway.bundle.json to the gateway (no terraform on the path)`;
      }
      const env = { ...environment, TF_CLI_CONFIG_FILE: cliConfigFile, TF_IN_AUTOMATION: "1" };
      if (!isInitialised) await run("terraform", ["init", "-input=false", "-no-color"], stack, env);
      isInitialised = true;
      const plan = await run("terraform", ["plan", "-input=false", "-no-color", "-out=plan"], stack, env);
      const apply = await run("terraform", ["apply", "-input=false", "-no-color", "plan"], stack, env);
      return plan + apply;
    };

    // The first bundle is there before the gateway starts, so that its first answer is already the program's.
    await publish();
    if (options.withTraffic === true) {
      for (const [name, slice] of Object.entries(trafficSlices(origin, mcpServer.origin)))
        await writeFile(join(configDirectory, name), slice);
      const { addTraffic } = await import("./traffic/add-traffic.ts");
      await addTraffic({
        storageUrl: storageIn(directory),
        configDirectory,
        published: versions.at(-1) ?? {},
        issuer: identityProvider.issuer,
      });
    }
    // Warnings only: the terminal belongs to the story.
    const gateway = own(await startGateway({ config: configDirectory, log: createLog({ level: "warn" }) }));
    if (options.withTraffic === true) {
      const { addLiveTraffic } = await import("./traffic/live-traffic.ts");
      await addLiveTraffic({ origin, adminOrigin: gateway.adminOrigin, versions, adminToken });
    }
    return {
      origin,
      pagesOrigin,
      adminOrigin: gateway.adminOrigin,
      identityProvider,
      mcpServer,
      webApp,
      gateway,
      publisher,
      directory,
      configDirectory,
      publish,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function storageIn(directory: string): string {
  return `sqlite:${join(directory, "gateway.db")}`;
}

/** What only the gateway's own operator sets; everything else is in the program. */
function bootSettings(
  options: StageOptions,
  {
    issuer,
    pagesOrigin,
    directory,
    adminToken,
  }: {
    readonly issuer: string;
    readonly pagesOrigin: string;
    readonly directory: string;
    /** For the team that publishes over the admin address, where there is traffic. */
    readonly adminToken: string;
  },
): string {
  return `# Boot settings of the demo; the program's slice lies beside this file.
address: 127.0.0.1:${options.port}
admin_address: 127.0.0.1:0
insecure_server: true
development: true
shared_secret: ${randomBytes(32).toString("base64")}
storage_url: ${storageIn(directory)}
authorize_log: ${options.authorizeLog === undefined || options.authorizeLog === "stdout" ? "stdout" : join(directory, options.authorizeLog)}
record_store: {}
${options.withTraffic === true ? `admin_token: ${adminToken}\n` : ""}console:${options.withTraffic === true ? "\n  name: Demo traffic" : ""}
  operator: { allow: { and: [{ groups: { has: admins } }] } }
  approver: { allow: { and: [{ groups: { has: admins } }] } }
  auditor: { allow: { and: [{ groups: { has: admins } }] } }
authenticate_service_url: ${pagesOrigin}
idp_provider_url: ${issuer}
idp_client_id: ${CLIENT.client_id}
idp_client_secret: ${CLIENT.client_secret}
`;
}

/** A copy of the program that can be edited without touching the checkout. @returns its path */
export async function copyProgram(source: string, text: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-program-"));
  const root = new URL("../../", import.meta.url).pathname;
  // Packages are found from the file's own place.
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  const file = join(directory, source);
  await writeFile(file, text.replaceAll("../../cdktf/", `${root}cdktf/`));
  return file;
}

async function hasTerraform(): Promise<boolean> {
  return run("terraform", ["version"], tmpdir(), {}).then(
    () => true,
    () => false,
  );
}

function run(command: string, args: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    // An inherited CLI configuration of the user's would hide the provider of this checkout.
    const { TF_CLI_CONFIG_FILE: _, ...inherited } = process.env;
    const child = spawn(command, args, {
      cwd,
      env: { ...inherited, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LONG_MS,
    });
    let output = "";
    const collect = (chunk: Buffer) => void (output += chunk.toString("utf8"));
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`Cannot run "${command} ${args.join(" ")}": exit code ${code}\n${output}`));
    });
  });
}

/** The wanted port, or the next free one. */
export async function findPort(wanted: number): Promise<number> {
  for (let port = wanted; port < wanted + 100; port += 1) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error(`Cannot find a free port from ${wanted} to ${wanted + 99}`);
}
