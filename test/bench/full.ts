/** The gateway as `gateway run` starts it: `node full.ts CONFIG` prints its port when it serves. */
import { startGateway } from "../../runtime/gateway.ts";

const gateway = await startGateway({ config: process.argv[2] ?? "" });
console.log(gateway.port);
