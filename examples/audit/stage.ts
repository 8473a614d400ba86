/** A shop, a gateway before it that writes an audit, and what `gateway audit` says of files. */
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { headCommand, verifyCommand } from "../../runtime/tools/audit/command.ts";
import { startUpstream } from "../../test/support/marked-upstream.ts";
import { runGateway } from "../../test/support/run-gateway.ts";
import { createOwned } from "../demo/owned.ts";

/** What `gateway audit verify` says. */
export interface Verdict {
  /** 0: whole; 3: something is wrong; 4: nothing is wrong, but not all is signed. */
  readonly code: number;
  readonly text: string;
}

export interface AuditStage {
  /** @returns status */
  ask(path: string): Promise<number>;
  /** Ends the gateway; afterwards its log is complete. */
  stop(): Promise<void>;
  /** The lines of its log, without line ends. */
  lines(): readonly string[];
  /** Of a file with this text, or of several in any order; with `head` also of what an outsider keeps. */
  verify(texts: readonly (string | Buffer)[], options?: { readonly head?: string }): Promise<Verdict>;
  /** What an outsider keeps to find out that the end was cut off. */
  head(): Promise<string>;
  close(): Promise<void>;
}

/** Of this run on loopback, where the file has others. */
const OWN = new Set(["shared_secret", "authorize_log"]);

export async function startAuditStage(): Promise<AuditStage> {
  const { own, close } = createOwned();
  try {
    const shop = own(await startUpstream());
    const { routes, ...written } = parse(
      readFileSync(new URL("gateway.yaml", import.meta.url), "utf8").replace("http://shop.internal:3000", shop.origin),
    ) as Readonly<Record<string, unknown>>;
    const boot = Object.fromEntries(Object.entries(written).filter(([name]) => !OWN.has(name)));
    const directory = mkdtempSync(join(tmpdir(), "audit-example-"));
    own({ close: () => rm(directory, { recursive: true }) });
    const gateway = own(await runGateway({ boot, yaml: stringify({ routes }) }));
    const log = join(gateway.directory, "authorize.log");
    const config = join(directory, "gateway.yaml");
    copyFileSync(join(gateway.directory, "gateway.yaml"), config);
    let files = 0;
    const file = (text: string | Buffer): string => {
      const path = join(directory, `${(files += 1)}.log`);
      writeFileSync(path, text);
      return path;
    };
    return {
      ask: (path) => ask(gateway.origin, path),
      async stop() {
        gateway.process.kill("SIGTERM");
        await gateway.ended;
      },
      lines: () => readFileSync(log, "utf8").trimEnd().split("\n"),
      async verify(texts, { head } = {}) {
        const options = { config, ...(head !== undefined && { head: file(head) }) };
        const { exitCode, text } = await verifyCommand(texts.map(file), options, process.stderr);
        return { code: exitCode, text };
      },
      head: async () => (await headCommand([log], { config }, process.stderr)).text,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function ask(origin: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}${path}`, { headers: { host: "shop.example.com" } }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    asked.on("error", reject).end();
  });
}
