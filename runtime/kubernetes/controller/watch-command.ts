/** `gateway ingress watch`: the controller, from the command line to its end. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";

import { parseHttpUrl } from "../../settings/values.ts";
import { quote } from "../../settings/problem.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createLog, type Log } from "../../shared/log.ts";
import { systemClock, type Closable } from "../../shared/clock.ts";
import { createKubeClient } from "./client.ts";
import { Controller } from "./controller.ts";
import { runElection, type RunningElection } from "./election.ts";
import { startHealth } from "./health.ts";
import { createDirectoryPublisher } from "./directory-publisher.ts";
import { isObjectName } from "../translate/objects.ts";
import { createAdminPublisher, type SlicePublisher } from "./publisher.ts";
import { addressOf } from "./status.ts";
import { DEFAULT_OWNER } from "../translate/slices.ts";
import { readText, sealTo, type TranslateCommand, translateOptions } from "../translate-command.ts";

/** Options of the command line. */
export interface WatchCommand extends TranslateCommand {
  readonly publishDirectory?: string;
  readonly publishUrl?: string;
  readonly adminTokenFile?: string;
  readonly publishCa?: string;
  readonly publishClientCert?: string;
  readonly publishClientKey?: string;
  readonly namespace?: readonly string[];
  readonly address?: readonly string[];
  /** "namespace/name". */
  readonly addressService?: string;
  readonly kubeconfig?: string;
  /** "namespace/name". */
  readonly lease?: string;
  /** "host:port" of `/healthz`, `/readyz` and `/metrics`. */
  readonly healthAddress?: string;
  /** False: publish and write without leader election. */
  readonly leaderElection?: boolean;
}

const LEASE_NAME = "gateway-ingress-controller";
const POD_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** @throws GatewayError `ingress.option`, `ingress.unreadable`, `kube.library`, `kube.config` */
export async function startIngressWatch(command: WatchCommand, log: Log = createLog()): Promise<Closable> {
  const { sealKey: sealKeyFile, ...rest } = command;
  const options = await translateOptions(rest);
  const publisher = publisherOf(command);
  const sealKey = sealKeyFile === undefined ? undefined : await readText(sealKeyFile);
  // Validate now, so that a wrong file is reported before the first Secret.
  if (sealKey !== undefined) sealTo(sealKey);
  const [leaseNamespace = "", leaseName = ""] = objectName(
    "--lease",
    command.lease ?? `${await podNamespace()}/${LEASE_NAME}`,
  );
  if (command.addressService !== undefined) objectName("--address-service", command.addressService);

  const { healthAddress: address } = command;
  let election: RunningElection | undefined;
  let controller: Controller | undefined;
  const health =
    address === undefined
      ? undefined
      : await startHealth({
          address,
          isLeader: () => election?.isLeader() ?? true,
          leaseProblem: () => election?.problem(),
          clusterProblems: () => controller?.problems() ?? [],
        });
  const client = await createKubeClient({
    ...(command.kubeconfig !== undefined && { kubeconfigFile: command.kubeconfig }),
    onConnectionLost() {
      health?.connectionLost();
      log.warn({}, "cluster connection lost, reconnecting");
    },
    onForbidden: (right) => health?.forbidden(right),
  });
  election =
    command.leaderElection === false
      ? undefined
      : runElection(
          {
            client,
            namespace: leaseNamespace,
            name: leaseName,
            identity: `${hostname()}_${randomBytes(4).toString("hex")}`,
            clock: systemClock,
            log,
            onFailure: () => health?.leaseFailed(),
          },
          // The previous leader may have published another state.
          () => controller?.wake({ republish: true }),
        );
  controller = new Controller({
    client,
    publisher,
    translate: options,
    sealKey,
    view: {
      ...(command.namespace === undefined ? {} : { namespaces: command.namespace }),
      addressService: command.addressService,
    },
    addresses: command.address?.map((text) => addressOf(text)),
    isLeader: () => election?.isLeader() ?? true,
    clock: systemClock,
    log,
    ...(health && { onRound: (round) => health.round(round) }),
  });
  log.info({ place: publisher.place }, "watching ingresses");
  return {
    async close() {
      await controller?.close();
      // After the last write, so that no other controller starts before this one has ended.
      await election?.close();
      await client.close();
      await health?.close();
    },
  };
}

/** Resolves with the exit code after SIGTERM or SIGINT. */
export async function watchUntilSignal(command: WatchCommand): Promise<number> {
  const watching = await startIngressWatch(command);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
  await watching.close();
  return 0;
}

function publisherOf({
  publishDirectory,
  publishUrl,
  adminTokenFile,
  publishCa: caFile,
  publishClientCert: certFile,
  publishClientKey: keyFile,
  owner = DEFAULT_OWNER,
}: WatchCommand): SlicePublisher {
  if ((publishDirectory === undefined) === (publishUrl === undefined)) {
    throw new GatewayError("ingress.option", "Cannot publish: give --publish-directory or --publish-url, one of them");
  }
  if (publishDirectory !== undefined) return createDirectoryPublisher(publishDirectory, owner);
  const url = parseHttpUrl(publishUrl ?? "");
  if (!url.ok) throw new GatewayError("ingress.option", `Cannot use --publish-url: it ${url.problem}`);
  if (adminTokenFile === undefined) {
    throw new GatewayError("ingress.option", "Cannot publish to --publish-url without --admin-token-file");
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new GatewayError("ingress.option", "Cannot publish: give --publish-client-cert with --publish-client-key");
  }
  return createAdminPublisher({
    url: url.value.href,
    owner,
    tokenFile: adminTokenFile,
    tls: { caFile, certFile, keyFile },
  });
}

function objectName(option: string, text: string): readonly string[] {
  const parts = text.split("/");
  if (parts.length === 2 && parts.every(isObjectName)) return parts;
  throw new GatewayError("ingress.option", `Cannot use ${option}: it is ${quote(text)}, must be "namespace/name"`);
}

/** Namespace of the pod that this process runs in. */
async function podNamespace(): Promise<string> {
  return (await readFile(POD_NAMESPACE_FILE, "utf8").catch(() => "default")).trim();
}
