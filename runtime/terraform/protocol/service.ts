/**
 * The provider service of plugin protocol 6 as gRPC: its methods, their messages, and its error handling.
 *
 * A failure becomes an error diagnostic, so that the user sees a sentence and not a broken pipe.
 */
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { wireDiagnostic } from "./diagnostics.ts";
import { createHandlers } from "./handlers.ts";
import type { ProviderLog } from "./provider-log.ts";
import { FunctionError, type Provider } from "./provider.ts";
import { method } from "./service-definition.ts";
import type { Message } from "./wire.ts";
import type { Handler } from "./handler.ts";

const METHODS: Readonly<Record<string, readonly [request: string, response: string]>> = {
  GetMetadata: ["Empty", "MetadataResponse"],
  GetProviderSchema: ["Empty", "SchemaResponse"],
  GetResourceIdentitySchemas: ["Empty", "IdentitySchemasResponse"],
  GetFunctions: ["Empty", "FunctionsResponse"],
  ValidateProviderConfig: ["ValidateProviderRequest", "ValidateProviderResponse"],
  ConfigureProvider: ["ConfigureRequest", "ConfigureResponse"],
  StopProvider: ["Empty", "StopResponse"],
  ValidateResourceConfig: ["ValidateRequest", "ValidateResponse"],
  UpgradeResourceState: ["UpgradeRequest", "UpgradeResponse"],
  UpgradeResourceIdentity: ["UpgradeIdentityRequest", "UpgradeIdentityResponse"],
  ReadResource: ["ReadRequest", "ReadResponse"],
  PlanResourceChange: ["PlanRequest", "PlanResponse"],
  ApplyResourceChange: ["ApplyRequest", "ApplyResponse"],
  ImportResourceState: ["ImportRequest", "ImportResponse"],
  MoveResourceState: ["MoveRequest", "MoveResponse"],
  ValidateDataResourceConfig: ["ValidateRequest", "ValidateResponse"],
  ReadDataSource: ["ReadDataRequest", "ReadDataResponse"],
  ValidateEphemeralResourceConfig: ["ValidateRequest", "ValidateResponse"],
  OpenEphemeralResource: ["OpenRequest", "OpenResponse"],
  RenewEphemeralResource: ["RenewRequest", "RenewResponse"],
  CloseEphemeralResource: ["CloseRequest", "CloseResponse"],
  CallFunction: ["CallRequest", "CallResponse"],
};

/** Newer methods are omitted on purpose: grpc responds UNIMPLEMENTED, which Terraform reads as "not supported". */
export const providerService: ServiceDefinition = Object.fromEntries(
  Object.entries(METHODS).map(([name, [request, response]]) => [
    name,
    method(`/tfplugin6.Provider/${name}`, request, response),
  ]),
);

export function providerImplementation(provider: Provider, log: ProviderLog): UntypedServiceImplementation {
  const handlers = createHandlers(provider);
  return Object.fromEntries(
    Object.keys(METHODS).map((name) => [
      name,
      (call: { request: Message }, reply: (error: null, message: Message) => void) => {
        void answer(name, handlers[name], call.request, log).then((message) => {
          reply(null, message);
        });
      },
    ]),
  );
}

async function answer(
  name: string,
  handler: Handler | undefined,
  request: Message,
  log: ProviderLog,
): Promise<Message> {
  const began = performance.now();
  try {
    const message = await handler?.(request);
    log.debug({ method: name, ms: Math.round(performance.now() - began) }, "answered");
    return message ?? {};
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : "terraform.bug";
    log.error({ method: name, code, error: errorText(error) }, "failed");
    if (name === "CallFunction") {
      return { error: { text: errorText(error), ...(error instanceof FunctionError && { argument: error.argument }) } };
    }
    if (name === "StopProvider") return { error: errorText(error) };
    const detail =
      error instanceof GatewayError
        ? errorText(error)
        : `${errorText(error)}\n\nThis is a mistake of the provider (${name}).`;
    return { diagnostics: [wireDiagnostic({ severity: "error", summary: "The gateway provider failed", detail })] };
  }
}
