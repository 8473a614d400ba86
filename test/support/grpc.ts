/** A gRPC service with each of the four kinds of call, its server and its client, by grpc-js. Messages are JSON. */
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  credentials,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ClientWritableStream,
  compressionAlgorithms,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceError,
  status,
  type StatusObject,
} from "@grpc/grpc-js";

import type { TestCertificate } from "./certificates.ts";

export interface Note {
  readonly text: string;
  /** The server ends the call with this instead. */
  readonly fail?: { readonly code: number; readonly details: string };
  /** How many notes the server sends. */
  readonly count?: number;
  /** The server says nothing to it. */
  readonly hang?: boolean;
}

type Kind = "Say" | "Collect" | "Repeat" | "Chat";

const SERVICE = "test.Notes";

function method(kind: Kind, requestStream: boolean, responseStream: boolean): MethodDefinition<Note, Note> {
  const serialize = (note: Note): Buffer => Buffer.from(JSON.stringify(note));
  const deserialize = (bytes: Buffer): Note => JSON.parse(bytes.toString()) as Note;
  return {
    path: `/${SERVICE}/${kind}`,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

const METHODS = {
  Say: method("Say", false, false),
  Collect: method("Collect", true, false),
  Repeat: method("Repeat", false, true),
  Chat: method("Chat", true, true),
};

type AnyCall = Pick<ServerUnaryCall<Note, Note>, "getPath" | "metadata" | "getDeadline" | "sendMetadata"> & {
  once(event: "cancelled", listener: () => void): unknown;
};

export interface NotesServer {
  /** With "localhost" over TLS, "127.0.0.1" in plain text. */
  readonly origin: string;
  /** Metadata of the calls that came, oldest first. */
  readonly seen: readonly { readonly path: string; readonly metadata: Metadata; readonly deadline: Date | number }[];
  /** Settles when the next call begins, with what settles when the client has gone away from it. */
  nextCall(): Promise<{ readonly cancelled: Promise<void> }>;
  close(): void;
}

/** @param tls absent: h2c */
export async function startNotesServer(tls?: TestCertificate): Promise<NotesServer> {
  const seen: { path: string; metadata: Metadata; deadline: Date | number }[] = [];
  const waiting: ((call: { cancelled: Promise<void> }) => void)[] = [];
  const begin = (call: AnyCall): void => {
    seen.push({ path: call.getPath(), metadata: call.metadata, deadline: call.getDeadline() });
    const cancelled = new Promise<void>((resolve) => call.once("cancelled", () => resolve()));
    waiting.shift()?.({ cancelled });
    const initial = new Metadata();
    initial.set("x-initial", "first");
    initial.set("x-bytes-bin", Buffer.from([0, 255, 10]));
    if (call.metadata.get("x-silent").length === 0) call.sendMetadata(initial);
  };
  const late = (): Metadata => {
    const metadata = new Metadata();
    metadata.set("x-late", "last");
    metadata.set("x-late-bin", Buffer.from([255, 0]));
    return metadata;
  };
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  const finish = (note: Note, done: sendUnaryData<Note>): void => {
    if (note.fail) done({ ...note.fail, metadata: late() });
    else if (note.hang !== true) done(null, note, late());
  };
  server.addService(METHODS, {
    Say(call: ServerUnaryCall<Note, Note>, done: sendUnaryData<Note>) {
      // Nothing before the trailers: an answer that is trailers only.
      if (call.request.fail) call.metadata.set("x-silent", "yes");
      begin(call);
      finish(call.request, done);
    },
    Collect(call: ServerReadableStream<Note, Note>, done: sendUnaryData<Note>) {
      begin(call);
      const notes: Note[] = [];
      call.on("data", (note: Note) => {
        notes.push(note);
        if (note.fail) finish(note, done);
      });
      call.on("end", () => done(null, { text: notes.map(({ text }) => text).join(""), count: notes.length }, late()));
    },
    Repeat(call: ServerWritableStream<Note, Note>) {
      begin(call);
      const { text, count = 0, fail, hang } = call.request;
      for (let index = 0; index < count; index += 1) call.write({ text: `${text}${index}` });
      if (fail) call.emit("error", { ...fail, metadata: late() });
      else if (hang !== true) call.end(late());
    },
    Chat(call: ServerDuplexStream<Note, Note>) {
      begin(call);
      call.on("data", (note: Note) => {
        if (note.fail) call.emit("error", { ...note.fail, metadata: late() });
        else if (note.hang !== true) call.write(note);
      });
      call.on("end", () => call.end(late()));
    },
  });
  const serverCredentials = tls
    ? ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }])
    : ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", serverCredentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  return {
    origin: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    seen,
    nextCall: () => new Promise((resolve) => waiting.push(resolve)),
    close: () => server.forceShutdown(),
  };
}

/** How a call went. */
export interface Outcome {
  readonly notes: readonly Note[];
  readonly code: number;
  readonly details: string;
  readonly initial: Readonly<Record<string, unknown>>;
  readonly trailing: Readonly<Record<string, unknown>>;
}

export interface NotesClient {
  say(note: Note, metadata?: Metadata, options?: CallOptions): Promise<Outcome>;
  collect(notes: readonly Note[], metadata?: Metadata, options?: CallOptions): Promise<Outcome>;
  repeat(note: Note, metadata?: Metadata, options?: CallOptions): Promise<Outcome>;
  /** Sends all messages together and ends. */
  chat(notes: readonly Note[], metadata?: Metadata, options?: CallOptions): Promise<Outcome>;
  /** The calls themselves, with their outcome. */
  openSay(note: Note, metadata?: Metadata, options?: CallOptions): Open<ClientUnaryCall>;
  openRepeat(note: Note, metadata?: Metadata, options?: CallOptions): Open<ClientReadableStream<Note>>;
  openCollect(metadata?: Metadata, options?: CallOptions): Open<ClientWritableStream<Note>>;
  openChat(metadata?: Metadata, options?: CallOptions): Open<ClientDuplexStream<Note, Note>>;
  close(): void;
}

export interface Open<C> {
  readonly call: C;
  readonly outcome: Promise<Outcome>;
}

/** @param trust root of the server's certificate, or anything; absent: in the clear */
export function createNotesClient(
  target: string,
  trust?: { readonly root?: string },
  options: ClientOptions = {},
): NotesClient {
  const client = new Client(target, trust === undefined ? credentials.createInsecure() : trusting(trust), {
    "grpc.max_receive_message_length": -1,
    "grpc.enable_retries": 0,
    ...options,
  });
  const { Say, Collect, Repeat, Chat } = METHODS;
  const say: NotesClient["openSay"] = (note, metadata = new Metadata(), callOptions = {}) => {
    const found: Note[] = [];
    const call = client.makeUnaryRequest(
      Say.path,
      Say.requestSerialize,
      Say.responseDeserialize,
      note,
      metadata,
      callOptions,
      take(found),
    );
    return { call, outcome: outcomeOf(call, found) };
  };
  const collect: NotesClient["openCollect"] = (metadata = new Metadata(), callOptions = {}) => {
    const found: Note[] = [];
    const call = client.makeClientStreamRequest(
      Collect.path,
      Collect.requestSerialize,
      Collect.responseDeserialize,
      metadata,
      callOptions,
      take(found),
    );
    return { call, outcome: outcomeOf(call, found) };
  };
  const repeat: NotesClient["openRepeat"] = (note, metadata = new Metadata(), callOptions = {}) => {
    const call = client.makeServerStreamRequest(
      Repeat.path,
      Repeat.requestSerialize,
      Repeat.responseDeserialize,
      note,
      metadata,
      callOptions,
    );
    return { call, outcome: outcomeOf(call, collectFrom(call)) };
  };
  const chat: NotesClient["openChat"] = (metadata = new Metadata(), callOptions = {}) => {
    const call = client.makeBidiStreamRequest(
      Chat.path,
      Chat.requestSerialize,
      Chat.responseDeserialize,
      metadata,
      callOptions,
    );
    return { call, outcome: outcomeOf(call, collectFrom(call)) };
  };
  return {
    say: (...args) => say(...args).outcome,
    collect(notes, ...rest) {
      const { call, outcome } = collect(...rest);
      for (const note of notes) call.write(note);
      call.end();
      return outcome;
    },
    repeat: (...args) => repeat(...args).outcome,
    chat(notes, ...rest) {
      const { call, outcome } = chat(...rest);
      for (const note of notes) call.write(note);
      call.end();
      return outcome;
    },
    openSay: say,
    openRepeat: repeat,
    openCollect: collect,
    openChat: chat,
    close: () => client.close(),
  };
}

function trusting({ root }: { readonly root?: string }): ChannelCredentials {
  if (root !== undefined) return credentials.createSsl(Buffer.from(root));
  return credentials.createSsl(null, null, null, { rejectUnauthorized: false });
}

/** Metadata from plain values. */
export function metadataOf(values: Readonly<Record<string, string | Buffer>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}

export const GZIP: ClientOptions = { "grpc.default_compression_algorithm": compressionAlgorithms.gzip };

function take(found: Note[]): (error: ServiceError | null, note?: Note) => void {
  return (_error, note) => {
    if (note) found.push(note);
  };
}

function collectFrom(call: ClientReadableStream<Note> | ClientDuplexStream<Note, Note>): Note[] {
  const found: Note[] = [];
  call.on("data", (note: Note) => found.push(note));
  // The status also reports it.
  call.on("error", () => {});
  return found;
}

function outcomeOf(call: Pick<ClientUnaryCall, "on" | "once">, notes: readonly Note[]): Promise<Outcome> {
  let initial: Readonly<Record<string, unknown>> = {};
  call.on("metadata", (metadata: Metadata) => (initial = metadata.getMap()));
  return new Promise((resolve) => {
    // A turn later: the message of a unary call comes with it.
    call.once("status", ({ code, details, metadata }: StatusObject) =>
      setImmediate(() => resolve({ notes, code, details, initial, trailing: metadata.getMap() })),
    );
  });
}

export { status };
