/** The gRPC server of one provider process, with or without TLS. */
import { Server, ServerCredentials } from "@grpc/grpc-js";

import { GatewayError } from "../../shared/errors.ts";
import { pluginImplementation, pluginServices } from "./plugin-services.ts";
import type { ProviderLog } from "./provider-log.ts";
import type { Provider } from "./provider.ts";
import { providerImplementation, providerService } from "./service.ts";

export interface ServerOptions {
  readonly provider: Provider;
  readonly log: ProviderLog;
  /** "unix:PATH", or "HOST:PORT" with 0 for any free port. */
  readonly listen: string;
  /** Without it the server speaks plain text; only for reattached development servers. */
  readonly tls?: { readonly privateKey: string; readonly certificate: string; readonly clientCertificate: string };
  /** Called when Terraform requests the shutdown. */
  readonly onShutdown: () => void;
}

export interface RunningServer {
  /** Of TCP. */
  readonly port: number;
  /** Ends open calls and stops listening. */
  close(): void;
}

/** @throws GatewayError `terraform.listen` */
export async function serveProvider(options: ServerOptions): Promise<RunningServer> {
  const { provider, log, listen, tls } = options;
  // The default limit of 4 MB would truncate the plan of a large bundle.
  const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  server.addService(providerService, providerImplementation(provider, log));
  server.addService(pluginServices, pluginImplementation(options.onShutdown));
  const credentials = tls
    ? ServerCredentials.createSsl(
        // Exactly the one certificate of the Terraform that started us; a client without one is rejected.
        Buffer.from(tls.clientCertificate),
        [{ private_key: Buffer.from(tls.privateKey), cert_chain: Buffer.from(tls.certificate) }],
        true,
      )
    : ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(listen, credentials, (error, bound) => {
      if (error) reject(new GatewayError("terraform.listen", `Cannot listen on "${listen}"`, { cause: error }));
      else resolve(bound);
    });
  });
  return {
    port,
    close: () => {
      server.forceShutdown();
    },
  };
}
