/** Event streams and WebSockets held open, and what becomes of them when their session ends. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import { signIn, signOut, type Session } from "./sessions.ts";
import { act, createActor, type Actor, type Scene } from "./scene.ts";

/** How long a stream is held at most, in milliseconds. */
const HELD_MS = 6_000;
const FRAME_EVERY_MS = 500;
/** A masked text frame of one letter. */
const FRAME = Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]);

interface Held {
  readonly ended: Promise<void>;
  end(): void;
}

function hold(actor: Actor, { id: session, user, cookie }: Session, how: "sse" | "websocket"): Held {
  const { world, history } = actor;
  const replica = actor.replica();
  const tag = actor.next();
  const url = new URL(`${world.addresses.web}/t/${tag}${how === "sse" ? "/events" : "/echo"}`);
  const facts = { tag, route: "web", how, user, session } as const;
  const operation = history.begin("stream", { actor: actor.name, replica: replica.name }, facts);
  const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const key = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", origin: world.addresses.origin };
  const asked: ClientRequest = httpRequest({
    host: "127.0.0.1",
    port: replica.port,
    path: url.pathname,
    headers: { host: url.host, cookie, ...(how === "websocket" && { ...upgrade, ...key }) },
    agent: false,
  });
  const over = Promise.withResolvers<void>();
  let status: number | undefined;
  let lastByteAt: number | undefined;
  const finish = (): void => {
    const isIn = status === 200 || status === 101;
    operation.end(isIn ? "ok" : status !== undefined && status < 500 ? "refused" : "unknown", {
      ...(status !== undefined && { status }),
      ...(isIn && lastByteAt !== undefined && { lastByteAt }),
    });
    over.resolve();
  };
  let followed: Duplex | IncomingMessage | undefined;
  const follow = (stream: Duplex | IncomingMessage): void => {
    followed = stream;
    stream.on("data", () => (lastByteAt = world.now()));
    stream.on("error", finish);
    stream.on("close", finish);
  };
  asked.once("response", (response) => {
    status = response.statusCode;
    follow(response);
  });
  asked.once("upgrade", (response, socket) => {
    status = response.statusCode;
    follow(socket);
    const timer = setInterval(() => socket.writable && socket.write(FRAME), FRAME_EVERY_MS);
    socket.once("close", () => clearInterval(timer));
  });
  asked.on("error", finish);
  asked.end();
  const end = (): void => {
    asked.destroy();
    followed?.destroy();
  };
  return { ended: over.promise, end };
}

/** @param kept sessions that are left as they are, for the end */
export function holdStreams(
  scene: Scene,
  name: string,
  user: string,
  how: "sse" | "websocket",
  kept: Session[],
): Promise<void> {
  const actor = createActor(scene, name);
  let session: Session | undefined;
  return act(actor, async () => {
    if (!session) {
      session = await signIn(actor, user);
      if (!session) return actor.pause(1_000);
      kept.push(session);
    }
    const held = hold(actor, session, how);
    const isOver = held.ended.then(() => true);
    const isEarly = await Promise.race([isOver, actor.pause(HELD_MS * actor.random()).then(() => false)]);
    if (!isEarly && !actor.hasEnded() && actor.random() < 0.5) {
      await signOut(actor, session);
      await Promise.race([isOver, actor.pause(6_000)]);
      session = undefined;
    }
    held.end();
    await held.ended;
    if (isEarly) {
      // Cut off, or its session has ended: which of them the next one says.
      await actor.pause(1_000);
      if (actor.random() < 0.3) session = undefined;
    }
    return undefined;
  });
}
