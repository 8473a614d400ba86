/**
 * A gateway on loopback that watches a directory of slices, with an upstream that answers what it was sent: for the
 * checks of examples that publish by Terraform and want to see live traffic change.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { stringify } from "yaml";

import { type Gateway, startGateway } from "../../runtime/gateway.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { freePort } from "./ports.ts";

export interface LiveGateway {
  /** "http://localhost:PORT". */
  readonly origin: string;
  readonly adminOrigin: string;
  readonly adminToken: string;
  /** Watched: what is published here goes live. */
  readonly directory: string;
  /** Origin of the upstream. */
  readonly upstream: string;
  readonly runtime: Gateway;
  get(path: string): Promise<LiveAnswer>;
  /** Runs `act` and waits until the gateway has taken up what it changed. */
  change<T>(act: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface LiveAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Request headers as the upstream saw them; {} when the gateway itself answered. */
  readonly seen: Readonly<Record<string, string>>;
}

/** @param boot boot settings beside the usual ones of a gateway on loopback */
export async function startLiveGateway(boot: Readonly<Record<string, unknown>> = {}): Promise<LiveGateway> {
  const upstream = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ seen: request.headers }));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const directory = await mkdtemp(join(tmpdir(), "gateway-live-"));
  const port = await freePort();
  const adminToken = randomBytes(16).toString("hex");
  const settings = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    admin_token: adminToken,
    insecure_server: true,
    development: true,
    shared_secret: randomBytes(32).toString("base64"),
    storage_url: "memory:",
    authorize_log: join(directory, "authorize.log"),
    drain_timeout: "1s",
    ...boot,
  };
  await writeFile(join(directory, "gateway.yaml"), stringify(settings), { mode: 0o600 });
  const runtime = await startGateway({ config: directory, log: createLog({ level: "error" }) });
  const origin = `http://localhost:${port}`;
  return {
    origin,
    adminOrigin: runtime.adminOrigin,
    adminToken,
    directory,
    upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    runtime,
    async get(path) {
      const answer = await fetch(origin + path, { redirect: "manual", headers: { accept: "application/json" } });
      const text = await answer.text();
      const { seen = {} } = answer.ok ? (JSON.parse(text) as { seen?: Record<string, string> }) : {};
      return { status: answer.status, headers: answer.headers, seen };
    },
    async change(act) {
      let stop = (): void => {};
      const live = new Promise<void>((resolve) => {
        stop = runtime.onChange(resolve);
      });
      try {
        const result = await act();
        // From here on: how long the publishing itself takes is no business of the gateway.
        const late = delay(20_000, "late", { ref: false });
        if ((await Promise.race([live, late])) === "late")
          throw new Error("Cannot see the change: nothing went live in 20 s");
        return result;
      } finally {
        stop();
      }
    },
    async close() {
      await runtime.close();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
