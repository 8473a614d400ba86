/**
 * The gateway as `gateway run` starts it: `node full.ts CONFIG [CHECKOUT]` prints its port when it serves. Of this checkout,
 * or of another one, whose own dependencies it uses.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [config = "", checkout = join(import.meta.dirname, "../../..")] = process.argv.slice(2);
const program = pathToFileURL(join(checkout, "runtime/gateway.ts")).href;
const { startGateway } = (await import(program)) as typeof import("../../../runtime/gateway.ts");
const gateway = await startGateway({ config });
console.log(gateway.port);
