/** Who reads HTTP/1.1 where tests start the public listener: the gateway itself, or node's server. */
import { afterAll, beforeAll } from "vitest";

let current: "node" | "own" = "own";

/** For `createHttpServer()`. Ask when it is made. */
export const http1Server = (): "node" | "own" => current;

/** Inside a `describe()`: HTTP/1.1 is node's server's there. */
export function useNodeHttp1Server(): void {
  beforeAll(() => {
    current = "node";
  });
  afterAll(() => {
    current = "own";
  });
}
