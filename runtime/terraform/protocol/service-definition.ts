/** gRPC methods described by the wire table, without .proto files or generated code. */
import type { MethodDefinition } from "@grpc/grpc-js";

import { decodeMessage, encodeMessage, type Message } from "./wire.ts";

/**
 * @param path    `/<service>/<method>`, as it travels
 * @param request  message of the wire table
 * @param response message of the wire table; of a stream, each message
 */
export function method(
  path: string,
  request: string,
  response: string,
  responseStream = false,
): MethodDefinition<Message, Message> {
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: (message) => encodeMessage(request, message),
    requestDeserialize: (bytes) => decodeMessage(request, bytes),
    responseSerialize: (message) => encodeMessage(response, message),
    responseDeserialize: (bytes) => decodeMessage(response, bytes),
  };
}
