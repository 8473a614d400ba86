/** Small services that Terraform's plugin host expects in addition to the provider: health, output streams, broker, shutdown. */
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

import { method } from "./service-definition.ts";

const SERVING = 1;

interface Stream {
  on(event: string, listener: () => void): void;
  end(): void;
  resume?(): void;
}
type Callback = (error: null, reply: object) => void;

export const pluginServices: ServiceDefinition = {
  Check: method("/grpc.health.v1.Health/Check", "HealthRequest", "HealthResponse"),
  StreamStdio: { ...method("/plugin.GRPCStdio/StreamStdio", "Empty", "StdioData"), responseStream: true },
  StartStream: {
    ...method("/plugin.GRPCBroker/StartStream", "BrokerData", "BrokerData"),
    requestStream: true,
    responseStream: true,
  },
  Shutdown: method("/plugin.GRPCController/Shutdown", "Empty", "Empty"),
};

/** @param shutdown called after the response to Shutdown was sent */
export function pluginImplementation(shutdown: () => void): UntypedServiceImplementation {
  return {
    Check: (_call: unknown, reply: Callback) => {
      reply(null, { status: SERVING });
    },
    // Never written to, but closing it early would look like a crash.
    StreamStdio: (call: Stream) => {
      call.on("cancelled", () => {
        call.end();
      });
    },
    StartStream: (call: Stream) => {
      call.resume?.();
      call.on("end", () => {
        call.end();
      });
    },
    Shutdown: (_call: unknown, reply: Callback) => {
      reply(null, {});
      shutdown();
    },
  };
}
