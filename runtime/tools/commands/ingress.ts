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
  const ingress = program.command("ingress").description("Convert Kubernetes Ingresses to configuration");
  withIngressOptions(ingress.command("translate"))
    .description("Convert Kubernetes manifests to slices, one per namespace")
    .argument("<file...>", 'Manifest files; "-" is standard input')
    .option("--seal-key <file>", "Public key of the gateway (JWK), to seal values of Secrets")
    .option("--json", "Print canonical JSON instead of YAML, one slice per line")
    .option("--write <directory>", "Write the slices as files, and delete those of removed namespaces")
    .addHelpText("after", "\nProblems go to standard error.")
    .action(async (files: string[], options: TranslateCommand) => {
      const { translateFiles } = await import("../../kubernetes/translate-command.ts");
      const result = await translateFiles(files, options);
      process.stdout.write(terminalText(result.output));
      process.stderr.write(terminalText(result.problems));
      exit(result.ok ? 0 : 1);
    });

  withIngressOptions(ingress.command("watch"))
    .description("Publish slices for the Ingresses of a cluster")
    .option("--publish-directory <path>", "Directory that a gateway watches")
    .option("--publish-url <url>", "Admin address of a gateway")
    .option("--admin-token-file <file>", "File with its admin token, or the publish token of the controller's owners")
    .option("--publish-ca <file>", "PEM file of the CAs of its certificate (https)")
    .option("--publish-client-cert <file>", "PEM file of the client certificate that it requires")
    .option("--publish-client-key <file>", "PEM file of the client certificate's key")
    .option("--seal-key <file>", "Public key of the gateway (JWK; default: read from the admin address)")
    .option("--namespace <name...>", "Only these namespaces (default: all)")
    .option("--address <address...>", "Gateway address for the status of Ingresses")
    .option("--address-service <namespace/name>", "Service whose address is used for the status instead")
    .option(
      "--kubeconfig <file>",
      "Path to the kubeconfig (default: standard locations, then the pod's service account)",
    )
    .option("--lease <namespace/name>", "Lease whose holder publishes, of several controllers")
    .option("--no-leader-election", "Publish without a Lease, for a single controller")
    .option("--health-address <host:port>", "Listener of /healthz, /readyz and /metrics (default: none)")
    .action(async (options: WatchCommand) => {
      const { watchUntilSignal } = await import("../../kubernetes/controller/watch-command.ts");
      exit(await watchUntilSignal(options));
    });
}

/** Options of both commands about Ingresses. */
function withIngressOptions(command: Command): Command {
  return command
    .option("--class <name>", 'IngressClass whose Ingresses are served (default "gateway")')
    .option("--owner <name>", 'Owner prefix: namespace "shop" publishes as "<name>.shop" (default "kubernetes")')
    .option("--scheme <scheme>", 'URL scheme for users: "https" (default), or "http" with insecure_server')
    .option("--port <number>", "Port for users (default: that of the scheme)")
    .option("--plain-http", "Serve HTTP listeners of Gateways without TLS: the gateway has http_redirect_address")
    .option("--no-tls-secrets", "Ignore spec.tls: the gateway's own certificates cover all hosts")
    .option("--cluster-domain <name>", 'DNS domain of Services (default "cluster.local")')
    .option("--hosts <file>", "YAML file of hosts that namespaces share or that are reserved for some")
    .option("--external-names", "Serve Services of type ExternalName, whatever their address");
}
