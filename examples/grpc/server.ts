/** The service, in the clear on loopback, as a gateway beside it reaches it: `node examples/grpc/server.ts`. */
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
} from "@grpc/grpc-js";
import { decodeJwt } from "jose";

import { greeter, type GreetRequest, type Greeting } from "./service.ts";

export interface Greeter {
  readonly port: number;
  /** Says something to all who watch. */
  say(text: string): void;
  close(): void;
}

export async function startGreeter(address: string): Promise<Greeter> {
  const watching = new Set<ServerWritableStream<GreetRequest, Greeting>>();
  const server = new Server();
  server.addService(greeter, {
    Greet(call: ServerUnaryCall<GreetRequest, Greeting>, done: sendUnaryData<Greeting>) {
      // Who calls is metadata. Whoever can be reached by others than the gateway verifies it; see /.well-known/jwks.json.
      const [assertion = ""] = call.metadata.get("x-gateway-assertion");
      const caller = assertion === "" ? "nobody we know" : decodeJwt(String(assertion)).sub;
      done(null, { text: `Hello ${call.request.name}, from ${caller}` });
    },
    Watch(call: ServerWritableStream<GreetRequest, Greeting>) {
      watching.add(call);
      call.once("cancelled", () => watching.delete(call));
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return {
    port,
    say(text) {
      for (const call of watching) call.write({ text });
    },
    close: () => server.forceShutdown(),
  };
}

if (import.meta.main) {
  const running = await startGreeter(process.argv[2] ?? "127.0.0.1:50051");
  console.log(`Greeter on port ${running.port}`);
  setInterval(() => running.say(`It is ${new Date().toISOString()}`), 60_000);
}
