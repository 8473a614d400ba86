/** greeter.proto as grpc-js takes it. */
import { fileURLToPath } from "node:url";

import type { MethodDefinition } from "@grpc/grpc-js";
import protobuf from "protobufjs";

export interface GreetRequest {
  readonly name: string;
}
export interface Greeting {
  readonly text: string;
}

const root = protobuf.loadSync(fileURLToPath(new URL("greeter.proto", import.meta.url)));
const request = coder<GreetRequest>("example.GreetRequest");
const greeting = coder<Greeting>("example.Greeting");

export const greeter = { Greet: method("Greet", false), Watch: method("Watch", true) };

function method(name: string, responseStream: boolean): MethodDefinition<GreetRequest, Greeting> {
  return {
    path: `/example.Greeter/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: request.encode,
    requestDeserialize: request.decode,
    responseSerialize: greeting.encode,
    responseDeserialize: greeting.decode,
  };
}

function coder<T extends object>(name: string) {
  const type = root.lookupType(name);
  return {
    encode: (value: T): Buffer => Buffer.from(type.encode(type.fromObject(value)).finish()),
    decode: (bytes: Buffer): T => type.toObject(type.decode(bytes), { defaults: true }) as T,
  };
}
