/** Who reads HTTP/1.1 where tests start the public listener: node's server, or the gateway's own. */
import { afterAll, beforeAll } from "vitest";

let current: "node" | "own" = "node";

/** For `createHttpServer()`. Ask when it is made. */
export const http1Server = (): "node" | "own" => current;

/** Inside a `describe()`: the servers that are made there are the gateway's own. */
export function useOwnHttp1Server(): void {
  beforeAll(() => {
    current = "own";
  });
  afterAll(() => {
    current = "node";
  });
}
