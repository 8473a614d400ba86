/** State of a controller over HTTP: `/healthz`, `/readyz` and `/metrics`, without names from the cluster. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { GatewayError } from "../../shared/errors.ts";
import type { Closable } from "../../shared/clock.ts";
import type { Round } from "./controller.ts";
import { missingRight } from "./kube-client.ts";

export interface HealthOptions {
  /** "127.0.0.1:9902", ":9902" */
  readonly address: string;
  readonly isLeader: () => boolean;
  /** Reason why the Lease cannot be read or written. */
  readonly leaseProblem: () => string | undefined;
  /** Reasons why the cluster cannot be read now. */
  readonly clusterProblems: () => readonly string[];
}

export interface ControllerHealth extends Closable {
  readonly port: number;
  leaseFailed(): void;
  connectionLost(): void;
  /** @param right the missing permission: "list services" */
  forbidden(right: string): void;
  round(round: Round): void;
}

/** @throws GatewayError `ingress.option` */
export async function startHealth(options: HealthOptions): Promise<ControllerHealth> {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(options.address) ?? [];
  if (port === "")
    throw new GatewayError("ingress.option", `Cannot use --health-address: must be "host:port" or ":port"`);
  const rounds: Record<Round["outcome"], number> = { waiting: 0, following: 0, published: 0, unchanged: 0, failed: 0 };
  let [leaseFailures, connectionsLost] = [0, 0];
  const refused = new Map<string, number>();
  let last: Round | undefined;

  const problems = (): readonly string[] => {
    const lease = options.leaseProblem();
    return [
      ...(lease === undefined ? [] : [`lease: ${lease}`]),
      ...options.clusterProblems(),
      ...(last === undefined || (last.outcome === "waiting" && !last.translation)
        ? ["the cluster is not read yet"]
        : []),
      ...(last?.unwritten === undefined ? [] : [unwrittenText(last.unwritten)]),
      ...(last?.outcome === "failed" ? ["ingresses could not be published"] : []),
    ];
  };

  const metrics = (): string =>
    [
      ...series("gateway_ingress_leader", "gauge", "1 if this controller is the leader.", options.isLeader() ? 1 : 0),
      ...series(
        "gateway_ingress_lease_failures_total",
        "counter",
        "Failed reads and writes of the Lease.",
        leaseFailures,
      ),
      ...series(
        "gateway_ingress_connections_lost_total",
        "counter",
        "Connections to the API server that stopped responding.",
        connectionsLost,
      ),
      "# HELP gateway_ingress_refused_total Requests that the API server rejected because this permission is missing.",
      "# TYPE gateway_ingress_refused_total counter",
      ...[...refused].map(([right, count]) => `gateway_ingress_refused_total{right="${right}"} ${count}`),
      "# HELP gateway_ingress_rounds_total Rounds from the cluster to the gateway, by outcome.",
      "# TYPE gateway_ingress_rounds_total counter",
      ...Object.entries(rounds).map(
        ([outcome, count]) => `gateway_ingress_rounds_total{outcome="${outcome}"} ${count}`,
      ),
      "",
    ].join("\n");

  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void =>
      void response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
    if (request.url === "/healthz") return answer(200, "text/plain", "ok\n");
    if (request.url === "/metrics") return answer(200, "text/plain; version=0.0.4", metrics());
    if (request.url !== "/readyz") return answer(404, "text/plain", "not found\n");
    const found = problems();
    const body = { ready: found.length === 0, leader: options.isLeader(), problems: found };
    answer(body.ready ? 200 : 503, "application/json", `${JSON.stringify(body)}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new GatewayError("ingress.option", `Cannot listen at --health-address: ${cause.message}`, { cause })),
    );
    server.listen(Number(port), host === "" ? undefined : host.replace(/^\[(.*)\]$/, "$1"), resolve);
  });
  // The controller keeps the process alive; a controller that failed to start must not.
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    leaseFailed: () => void (leaseFailures += 1),
    connectionLost: () => void (connectionsLost += 1),
    forbidden: (right) => void refused.set(right, (refused.get(right) ?? 0) + 1),
    round(round) {
      rounds[round.outcome] += 1;
      last = round;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function unwrittenText(error: unknown): string {
  const { right } = missingRight(error);
  return right === undefined ? "cannot write the status of ingresses" : `right missing: ${right}`;
}

function series(name: string, type: string, help: string, value: number): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`];
}
