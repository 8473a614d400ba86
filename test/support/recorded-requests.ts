/**
 * Requests that programs of the Terraform family send to a provider: recorded from real runs (`npm run test:real`), kept in
 * test/golden/terraform/ for tests without these programs. Configuration and state in them are those below.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { providerService } from "../../runtime/terraform/protocol/service.ts";
import { bundleConfig, createWorkspace, serveInProcess } from "./terraform.ts";

/** The first request of each method, as bytes. */
export type Recording = ReadonlyMap<string, Buffer>;

const FOLDER = new URL("../golden/terraform/", import.meta.url);
/** Nothing listens there: requests of an action end with an error. */
const NOWHERE = 'url = "http://127.0.0.1:1"';

/** "terraform-1.16.0", "opentofu-1.12.6": the program on the PATH. */
export function programName(): string {
  const [line = ""] = execFileSync("terraform", ["version"], { encoding: "utf8" }).split("\n");
  return line.toLowerCase().replace(" v", "-");
}

export function recordings(): readonly string[] {
  return readdirSync(FOLDER).map((name) => name.replace(".json", ""));
}

export function readRecording(name: string): Recording {
  const kept = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Record<string, string>;
  return new Map(Object.entries(kept).map(([method, text]) => [method, Buffer.from(text, "base64")]));
}

export function writeRecording(name: string, recording: Recording): void {
  const kept = [...recording]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([method, bytes]) => [method, bytes.toString("base64")]);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(new URL(`${name}.json`, FOLDER), `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

/** Runs the program on the PATH through everything that it can do without a gateway. */
export async function recordRequests(): Promise<Recording> {
  const seen = new Map<string, Buffer>();
  const restore = Object.entries(providerService).map(([method, definition]) => {
    const read = definition.requestDeserialize;
    (definition as { requestDeserialize: typeof read }).requestDeserialize = (bytes) => {
      if (!seen.has(method)) seen.set(method, Buffer.from(bytes));
      return read(bytes);
    };
    return () => void ((definition as { requestDeserialize: typeof read }).requestDeserialize = read);
  });
  const directory = mkdtempSync(join(tmpdir(), "gw-recorded-"));
  const provider = await serveInProcess();
  const workspace = createWorkspace(provider.env);
  const body = `owner = "team"\nfile {\n directory = "${directory}"\n }
    route "a" {\n from = "https://a.example.com"\n to = ["http://10.0.0.1"]\n policy = jsonencode([])\n }`;
  const call = 'output "f" {\n value = provider::gateway::literal("x")\n }\n';
  const ephemeral = `ephemeral "gateway_publish_token" "t" {\n owner = "team"\n ${NOWHERE}\n }\n`;
  const status = `data "gateway_status" "s" {\n ${NOWHERE}\n }\n`;
  const action = `action "gateway_rollback" "x" {\n config {\n owner = "team"\n ${NOWHERE}\n }\n }\n`;
  const list = `list "gateway_bundle" "all" {\n provider = gateway\n config {\n directory = "${directory}"\n }\n }\n`;
  const importing = `import {\n to = gateway_bundle.main\n identity = { owner = "team", directory = "${directory}" }\n }\n`;
  try {
    workspace.write("main.tf", bundleConfig(body, call));
    await workspace.succeed("validate");
    await workspace.succeed("apply", "-auto-approve");
    await workspace.succeed("plan");
    // What a program cannot do, and what fails without a gateway, sends the requests that it has.
    workspace.write("main.tf", bundleConfig(body, status + ephemeral));
    await workspace.run("plan");
    workspace.write("main.tf", bundleConfig(body, action));
    await workspace.run("apply", "-auto-approve", "-invoke=action.gateway_rollback.x");
    workspace.write("main.tf", bundleConfig(body));
    workspace.write("all.tfquery.hcl", list);
    await workspace.run("query");
    await workspace.succeed("state", "rm", "gateway_bundle.main");
    workspace.write("main.tf", bundleConfig(body, importing));
    await workspace.run("plan");
  } finally {
    for (const each of restore) each();
    workspace.close();
    provider.close();
    rmSync(directory, { recursive: true });
  }
  return seen;
}

/** @returns the request as the provider reads it, as bytes again: shorter by everything that the provider does not know */
export function knownPart(method: string, bytes: Buffer): Buffer {
  const { requestDeserialize, requestSerialize } = providerService[method]!;
  return requestSerialize(requestDeserialize(bytes));
}
