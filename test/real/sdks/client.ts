/** A client program of a language, which is driven by lines of JSON: commands on stdin, what happens on stdout. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** One thing that happened, such as `tokens`, `authorize`, `connected`, `progress`, `result` and `error`. */
export interface Happening {
  readonly event: string;
  /** ID of the command that it belongs to. */
  readonly id?: number | null;
  readonly [member: string]: unknown;
}

export interface SdkClient {
  /** All that has happened, in order. */
  readonly happened: readonly Happening[];
  /** How often the SDK sent its user to the gateway's sign-in and consent. */
  authorizations(): readonly URL[];
  /** The newest access token that the SDK has. */
  token(): string;
  /** How often the SDK got tokens. */
  tokens(): number;
  /** Waits for the first event with this name, or the first after `from`. @throws Error when the program ends before */
  next(event: string, from?: number): Promise<Happening>;
  /** The last event of a command: `tools`, `result`, `listening`, `done` or `error`. */
  run(command: Readonly<Record<string, unknown>>): Promise<Happening>;
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<Happening>;
  /** Ends the session and the program. */
  close(): Promise<void>;
}

const ENDS = new Set(["tools", "result", "error", "listening", "done"]);

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * @param visit opens an address in the user's browser; returns where it was sent
 * @returns once the client is connected. @throws Error with what it said when it ends before
 */
export async function startClient(
  { command, args }: Command,
  visit: (url: string) => Promise<string>,
): Promise<SdkClient> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const cleanUp = (): void => void child.kill("SIGKILL");
  process.once("exit", cleanUp);
  const happened: Happening[] = [];
  const urls: URL[] = [];
  const waiting = new Set<() => void>();
  let errors = "";
  let hasEnded = false;
  let commands = 0;
  const tell = (line: object): void => void child.stdin.write(`${JSON.stringify(line)}\n`);
  const wake = (): void => {
    for (const look of Array.from(waiting)) look();
  };
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const happening = JSON.parse(line) as Happening;
    happened.push(happening);
    if (happening.event === "authorize") {
      const url = new URL(String(happening["url"]));
      urls.push(url);
      visit(url.href).then(
        (callback) => tell({ do: "callback", url: callback }),
        (error: unknown) => {
          errors += String(error);
          child.kill();
        },
      );
    }
    wake();
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]).then(() => {
    hasEnded = true;
    wake();
  });
  const find = (matches: (happening: Happening) => boolean, from = 0): Promise<Happening> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = happened.slice(from).find(matches);
        if (!found && !hasEnded) return;
        waiting.delete(look);
        if (found) resolve(found);
        else
          reject(new Error(`The client ended:\n${happened.map((each) => JSON.stringify(each)).join("\n")}\n${errors}`));
      };
      waiting.add(look);
      look();
    });
  const client: SdkClient = {
    happened,
    authorizations: () => urls,
    token: () => String(happened.findLast(({ event }) => event === "tokens")?.["token"]),
    tokens: () => happened.filter(({ event }) => event === "tokens").length,
    next: (event, from) => find((each) => each.event === event, from),
    run(line) {
      const id = ++commands;
      tell({ ...line, id });
      return find((each) => each.id === id && ENDS.has(each.event));
    },
    call: (tool, args_ = {}) => client.run({ do: "call", tool, arguments: args_ }),
    async close() {
      tell({ do: "close", id: 0 });
      await ended;
      process.off("exit", cleanUp);
    },
  };
  try {
    await find((each) => each.event === "connected" || (each.event === "error" && each.id === null));
    await client.next("connected");
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  return client;
}
