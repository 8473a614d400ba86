/** A built gateway with several workers, at which Alice can sign in and whose slice `team` can be published. */
import { readFileSync } from "node:fs";

import { startIdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { visit } from "../../../examples/demo/person.ts";
import { type Browser, createBrowser, findForm } from "../../support/browser.ts";
import { freePort } from "../../support/ports.ts";
import { runGateway, type RunningGateway } from "../../support/run-gateway.ts";

export interface WorkersGateway {
  readonly gateway: RunningGateway;
  readonly port: number;
  /** Of the whole gateway. */
  readonly pid: number;
  /** Processes that serve. */
  readonly workers: readonly number[];
  signIn(): Promise<Browser>;
  signOut(browser: Browser): Promise<void>;
  cookieOf(browser: Browser): string;
  close(): Promise<void>;
}

export async function startWithWorkers(workers: number, upstream: string, program?: string): Promise<WorkersGateway> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "benchmark", redirect_uris: [`${origin}/.gateway/callback`] }],
  });
  const gateway = await runGateway({
    workers,
    boot: {
      address: `127.0.0.1:${port}`,
      log_level: "error",
      runtime_flags: { mcp: true },
      idp_provider_url: provider.issuer,
      idp_client_id: "gateway",
      idp_client_secret: "benchmark",
    },
    yaml: `routes:
  - { name: web, from: "${origin}", prefix: /web, to: "${upstream}", policy: { allow: { and: [{ domain: { is: example.com } }] } } }
  - { name: mcp, from: "${origin}", prefix: /mcp, to: "${upstream}", mcp: { server: { max_request_bytes: 65536 } }, policy: { allow: { and: [{ domain: { is: example.com } }] } } }
`,
    ...(program !== undefined && { program: [program] }),
  });
  const pid = gateway.process.pid ?? 0;
  const found = (await gateway.workers()).map((worker) => worker.pid);
  return {
    gateway,
    port,
    pid,
    workers: found.length === 0 ? [pid] : found,
    async signIn() {
      const browser = createBrowser();
      await visit(browser, `${origin}/web/items`, { user: "alice@example.com" });
      return browser;
    },
    async signOut(browser) {
      const page = await browser.open(`${origin}/.gateway/sign_out`);
      const form = findForm(page, "/sign_out");
      if (!form) throw new Error(`No form to sign out: ${page.status} ${page.text.slice(0, 200)}`);
      await browser.submit(page, form, {});
    },
    cookieOf: (browser) => browser.cookieHeader("localhost"),
    async close() {
      await gateway.close();
      await provider.close();
    },
  };
}

/** MiB that a process shares with no other, and with its part of what is shared. */
export function ownMemory(pid: number): { readonly unshared: number; readonly proportional: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]) / 1024;
  return { unshared: of("Private_Clean") + of("Private_Dirty"), proportional: of("Pss") };
}
