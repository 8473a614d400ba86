/**
 * A gateway that watches a directory of slices (gateway.ts), with an upstream that answers what it was sent: for the checks of
 * examples that publish by Terraform and want to see live traffic change.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { startGateway, type TestGateway } from "./gateway.ts";

export interface LiveGateway extends TestGateway {
  /** Origin of the upstream. */
  readonly upstream: string;
  get(path: string): Promise<LiveAnswer>;
}

export interface LiveAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Request headers as the upstream saw them; {} when the gateway itself answered. */
  readonly seen: Readonly<Record<string, string>>;
}

/** @param boot static settings in addition to the default ones of a gateway on loopback */
export async function startLiveGateway(boot: Readonly<Record<string, unknown>> = {}): Promise<LiveGateway> {
  const upstream = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ seen: request.headers }));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const gateway = await startGateway({ yaml: "", boot, watchesDirectory: true });
  return {
    ...gateway,
    upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    async get(path) {
      const answer = await fetch(gateway.origin + path, {
        redirect: "manual",
        headers: { accept: "application/json" },
      });
      const text = await answer.text();
      const { seen = {} } = answer.ok ? (JSON.parse(text) as { seen?: Record<string, string> }) : {};
      return { status: answer.status, headers: answer.headers, seen };
    },
    async change(act) {
      // No runner ends these programs; the gateway does not depend on the duration of the publication.
      const acted = Promise.withResolvers<void>();
      const changed = gateway.change(async () => {
        const result = await act();
        acted.resolve();
        return result;
      });
      const late = acted.promise.then(() => delay(20_000, "late", { ref: false }));
      if ((await Promise.race([changed, late])) === "late")
        throw new Error("Cannot see the change: nothing went live in 20 s");
      return changed;
    },
    async close() {
      await gateway.close();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
    },
  };
}
