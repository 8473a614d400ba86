/**
 * `gateway ingress translate
 * watch`: names and options; their actions are in `kubernetes/`.
 */
import type { Command } from "commander";

import type { TranslateCommand } from "../../kubernetes/translate-command.ts";
import type { WatchCommand } from "../../kubernetes/controller/watch-command.ts";
import { terminalText } from "../../shared/json/foreign-text.ts";

/** @param exit receives the exit code of the command */
export function addIngress(program: Command, exit: (code: number) => void): void {
  const ingress = program.command("ingress").description("Kubernetes Ingresses as configuration");
  withIngressOptions(ingress.command("translate"))
    .description(
      "print the slices that Kubernetes manifests make, one for each namespace; problems go to standard error",
    )
    .argument("<file...>", 'manifest files; "-" is standard input')
    .option("--seal-key <file>", "the gateway's public key (JWK), for values of Secrets")
    .option("--json", "canonical JSON instead of YAML, one slice in a line")
    .option(
      "--write <directory>",
      "instead of printing, put them there as files, and take away those of namespaces gone",
    )
    .action(async (files: string[], options: TranslateCommand) => {
      const { translateFiles } = await import("../../kubernetes/translate-command.ts");
      const result = await translateFiles(files, options);
      process.stdout.write(terminalText(result.output));
      process.stderr.write(terminalText(result.problems));
      exit(result.ok ? 0 : 1);
    });

  withIngressOptions(ingress.command("watch"))
    .description("follow the Ingresses of a cluster: publish their slices, write status and events")
    .option("--publish-directory <path>", "directory that a gateway watches")
    .option("--publish-url <url>", "admin address of a gateway")
    .option(
      "--admin-token-file <file>",
      "file with its admin token, or with the publish token of the controller's owners",
    )
    .option("--publish-ca <file>", "PEM of the authorities of its certificate (https)")
    .option("--publish-client-cert <file>", "PEM of the client certificate that it asks for")
    .option("--publish-client-key <file>", "PEM of the key of it")
    .option("--seal-key <file>", "the gateway's public key (JWK); asked for at the admin address when absent")
    .option("--namespace <name...>", "only these namespaces (default: all)")
    .option("--address <address...>", "address of the gateway for the status of Ingresses")
    .option("--address-service <namespace/name>", "Service whose address they get instead")
    .option("--kubeconfig <file>", "default: the usual places, then the pod's service account")
    .option("--lease <namespace/name>", "of several controllers the holder of this Lease publishes")
    .option("--no-leader-election", "there is only this one")
    .option("--health-address <host:port>", "serve /healthz, /readyz and /metrics here (default: nowhere)")
    .action(async (options: WatchCommand) => {
      const { watchUntilSignal } = await import("../../kubernetes/controller/watch-command.ts");
      exit(await watchUntilSignal(options));
    });
}

/** Options of both commands about Ingresses. */
function withIngressOptions(command: Command): Command {
  return command
    .option("--class <name>", 'IngressClass whose Ingresses are served (default "gateway")')
    .option("--owner <name>", 'the slice of namespace "shop" has the owner "<name>.shop" (default "kubernetes")')
    .option("--scheme <scheme>", 'how users reach the gateway: "https" (default), or "http" with insecure_server')
    .option("--port <number>", "port at which users reach the gateway (default: the usual one)")
    .option("--no-tls-secrets", "leave spec.tls alone: the gateway's own certificates are for all hosts")
    .option("--cluster-domain <name>", 'behind which names of Services end (default "cluster.local")')
    .option("--hosts <file>", "YAML, host to namespaces: hosts that namespaces share, or that are kept for some")
    .option("--external-names", "serve Services of type ExternalName, to whatever addresses they lead");
}
