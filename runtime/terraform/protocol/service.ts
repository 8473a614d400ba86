/**
 * The provider service of plugin protocol 6 as gRPC: its methods, their messages, and its error handling.
 *
 * A failure becomes an error diagnostic, so that the user sees a sentence and not a broken pipe.
 */
import { once } from "node:events";

import type { ServerWritableStream, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { createStreamHandlers } from "./action-handlers.ts";
import { wireDiagnostic } from "./diagnostics.ts";
import { createHandlers } from "./handlers.ts";
import type { ProviderLog } from "./provider-log.ts";
import { FunctionError, type Provider } from "./provider.ts";
import { method } from "./service-definition.ts";
import type { Message } from "./wire.ts";
import type { Handler, StreamHandler } from "./handler.ts";

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
  ValidateListResourceConfig: ["ValidateListRequest", "ValidateResponse"],
  ValidateActionConfig: ["ValidateRequest", "ValidateResponse"],
  PlanAction: ["ValidateRequest", "ValidateResponse"],
};

/** Their response is a stream of these messages. */
const STREAMS: typeof METHODS = {
  ListResource: ["ListRequest", "ListEvent"],
  InvokeAction: ["ValidateRequest", "ActionEvent"],
};

/** Other methods are omitted on purpose: grpc responds UNIMPLEMENTED, which Terraform reads as "not supported". */
export const providerService: ServiceDefinition = Object.fromEntries(
  Object.entries({ ...METHODS, ...STREAMS }).map(([name, [request, response]]) => [
    name,
    method(`/tfplugin6.Provider/${name}`, request, response, name in STREAMS),
  ]),
);

export function providerImplementation(provider: Provider, log: ProviderLog): UntypedServiceImplementation {
  const handlers = createHandlers(provider);
  const unary = Object.keys(METHODS).map((name) => [
    name,
    (call: { request: Message }, reply: (error: null, message: Message) => void) => {
      void answer(name, handlers[name], call.request, log).then((message) => {
        reply(null, message);
      });
    },
  ]);
  const streams = Object.entries(createStreamHandlers(provider)).map(([name, handler]) => [
    name,
    (call: ServerWritableStream<Message, Message>) => void answerStream(name, handler, call, log),
  ]);
  return Object.fromEntries([...unary, ...streams]) as UntypedServiceImplementation;
}

/** A failure is the last message of the stream. Ends early when Terraform wants no more. */
async function answerStream(
  name: string,
  handler: StreamHandler,
  call: ServerWritableStream<Message, Message>,
  log: ProviderLog,
): Promise<void> {
  const ended = new AbortController();
  call.once("cancelled", () => {
    ended.abort();
  });
  try {
    for await (const message of handler(call.request)) {
      if (!call.write(message)) await once(call, "drain", { signal: ended.signal });
      if (call.cancelled) break;
    }
    log.debug({ method: name }, "answered");
  } catch (error) {
    if (call.cancelled) return;
    const failed = { diagnostics: [diagnosticOf(name, error, log)] };
    call.write(name === "InvokeAction" ? { completed: failed } : failed);
  }
  call.end();
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
    const diagnostic = diagnosticOf(name, error, log);
    if (name === "CallFunction") {
      return { error: { text: errorText(error), ...(error instanceof FunctionError && { argument: error.argument }) } };
    }
    if (name === "StopProvider") return { error: errorText(error) };
    return { diagnostics: [diagnostic] };
  }
}

/** Logs the failure. */
function diagnosticOf(name: string, error: unknown, log: ProviderLog): Message {
  const code = error instanceof GatewayError ? error.code : "terraform.bug";
  log.error({ method: name, code, error: errorText(error) }, "failed");
  const detail =
    error instanceof GatewayError
      ? errorText(error)
      : `${errorText(error)}\n\nThis is a mistake of the provider (${name}).`;
  return wireDiagnostic({ severity: "error", summary: "The gateway provider failed", detail });
}
