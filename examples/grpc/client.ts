/**
 * Calls the service through the gateway, with the token of a service account in the metadata:
 *
 *   GATEWAY_TOKEN=gwt_… node examples/grpc/client.ts grpc.example.com:443
 */
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MethodDefinition,
} from "@grpc/grpc-js";

import { greeter, type GreetRequest, type Greeting } from "./service.ts";

export interface GreeterClient {
  greet(name: string): Promise<string>;
  watch(name: string): ClientReadableStream<Greeting>;
  close(): void;
}

/** @param root PEM of the authority of the gateway's certificate; absent: the usual ones */
export function createGreeterClient(
  address: string,
  token: string,
  root?: Buffer,
  options: ClientOptions = {},
): GreeterClient {
  // Over TLS only: a token in the clear is anybody's.
  const client = new Client(address, credentials.createSsl(root), options);
  const metadata = new Metadata();
  if (token !== "") metadata.set("authorization", `Bearer ${token}`);
  const parts = ({ path, requestSerialize, responseDeserialize }: MethodDefinition<GreetRequest, Greeting>) =>
    [path, requestSerialize, responseDeserialize] as const;
  return {
    greet: (name) =>
      new Promise((resolve, reject) => {
        // A call without a deadline may last forever; the gateway ends it by this one, too.
        const deadline = Date.now() + 10_000;
        client.makeUnaryRequest(...parts(greeter.Greet), { name }, metadata, { deadline }, (error, greeting) =>
          error ? reject(error) : resolve(greeting?.text ?? ""),
        );
      }),
    watch: (name) => client.makeServerStreamRequest(...parts(greeter.Watch), { name }, metadata),
    close: () => client.close(),
  };
}

if (import.meta.main) {
  const client = createGreeterClient(process.argv[2] ?? "grpc.example.com:443", process.env["GATEWAY_TOKEN"] ?? "");
  console.log(await client.greet("world"));
  client.watch("world").on("data", ({ text }: Greeting) => console.log(text));
}
