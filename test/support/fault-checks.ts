/** Health checks whose guards throw in turn: the check fails, the next one is made, and requests of others are served. */
import { openHttp1 } from "./fault-clients.ts";
import { guardedPlaces } from "./fault-places.ts";
import { ask, startFaultGateway, type World } from "./fault-gateway.ts";
import { isAsMeant, type Outcome } from "./fault-run.ts";
import { PLAIN } from "./fault-scenarios.ts";

const names = guardedPlaces();
/** Run with each check of an upstream that answers. */
const OF_CHECKS = [
  ["grpc", "once ready"],
  ["grpc", "on response"],
  ["grpc", "on trailers"],
  ["grpc", "on data"],
  ["grpc", "once end"],
  ["grpc", "once close"],
  ["grpc", "once close #2"],
  ["tcp", "once ready"],
  ["tcp", "on data"],
].map(([kind, guard]) => `upstreams/health/health-check-${kind}.ts ${guard}`);

export async function strikeChecks(world: World): Promise<Outcome> {
  const places = new Map([...names].map(([place, name]) => [name, place]));
  const { gateway, origin } = await startFaultGateway("clear", world, true);
  const problems: string[] = [];
  const struck: string[] = [];
  const serves = async (at: string): Promise<void> => {
    const open = openHttp1({ ...PLAIN.asked, origin, isProxied: true, host: "app.localhost" });
    const seen = await open.seen;
    if (!isAsMeant(seen, PLAIN)) problems.push(`${at}: ${JSON.stringify(seen)}`);
  };
  for (const name of [...OF_CHECKS, ...OF_CHECKS]) {
    const arm = places.get(name) ?? name;
    await ask(gateway, { arm });
    // Other clients' requests pass meanwhile. The next ones show that checks continue.
    do await serves(name);
    while (!(await ask(gateway, { arm })).thrown);
    struck.push(name);
    if (gateway.process.exitCode !== null) throw new Error(`${name}: ended the process\n${gateway.log()}`);
  }
  await ask(gateway, {});
  gateway.process.kill("SIGTERM");
  if ((await gateway.ended) !== 0) problems.push("the process did not end as it should");
  if (gateway.log().includes("uncaught error")) problems.push("an error reached the last resort");
  await gateway.close();
  return { struck, thrown: struck.length, problems };
}
