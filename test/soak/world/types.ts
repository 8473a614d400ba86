/**
 * The world in which a soak runs, as its actors, faults and checks see it: real gateways over a real store, one identity
 * provider, upstreams whose manners can be changed. All times are milliseconds of one monotonic clock, the soak's own.
 */
import type { DemoUser, IdentityProvider } from "../../../examples/demo/identity-provider.ts";
import type { AdminClient } from "../../support/admin-client.ts";
import type { Send } from "../../support/browser.ts";
import type { Random } from "../../support/random.ts";
import type { WorkerStatus } from "../../support/run-gateway.ts";
import type { UpstreamService } from "../../support/upstream-service.ts";

export type StoreKind = "sqlite" | "postgres";

/** One gateway, with workers. Its name, ports and files stay the same when it is started again. */
export interface Replica {
  /** "r1", "r2", … */
  readonly name: string;
  /** Where it listens, "http://127.0.0.1:PORT". Host headers are those of the public names. */
  readonly origin: string;
  readonly port: number;
  readonly adminOrigin: string;
  /** Configuration for commands (`gateway block … --config`): its boot file is gateway.yaml there. */
  readonly directory: string;
  /** Its authorization records, lines of JSON; complete once the world has ended. */
  readonly recordsFile: string;
  /** No fault keeps it down or stopped: requests may still fail, but there is somebody to answer. */
  up(): boolean;
  /** Process id of the gateway; that of its supervisor with workers. Undefined while it is down. */
  pid(): number | undefined;
  workers(): Promise<readonly WorkerStatus[]>;
  /** All that its processes said on standard error so far. */
  log(): string;
}

/** How an upstream behaves. All but "ok" are faults. */
export type UpstreamManner = "ok" | "hang" | "close" | "reset" | "late" | "refuse";

export interface SoakUpstream {
  readonly origin: string;
  /** Requests that reached it, for checks of what must not reach it. */
  readonly reached: readonly ReachedUpstream[];
  /** "close": kept connections right behind each answer, unannounced; "reset": half of its requests; "late": 2 s. */
  behave(manner: UpstreamManner): void;
}

/** What an upstream noted of a request. */
export interface ReachedUpstream {
  readonly at: number;
  readonly method: string;
  /** With its query. */
  readonly url: string;
  /** Of the gateway's request id. */
  readonly requestId: string | undefined;
  /** Tool of a `tools/call`. */
  readonly tool: string | undefined;
  /** "arguments" of a `tools/call`. */
  readonly arguments: unknown;
}

/** Routes of the boot file, as users call them. Published slices come on top, see `World.publish`. */
export interface PublicAddresses {
  /** Where sign-in, the user's pages and the authorization server are: "http://127.0.0.1:PORT"; nothing listens there. */
  readonly pages: string;
  /** Host of the routes: "http://localhost:PORT"; nothing listens there. */
  readonly origin: string;
  /** For everybody, without a name. Answers JSON: `{seen: request headers, url, requestId}`. */
  readonly open: string;
  /** For users of example.com, by session. Answers as `open`; `/events` below it streams an event every 500 ms; a WebSocket at `/echo`. */
  readonly web: string;
  /** MCP for users of example.com; calls of tools named `delete_…` need an approval by the caller. */
  readonly tools: string;
  /** MCP with an OAuth connection of each user to `World.service`. */
  readonly connected: string;
  /**
   * Hosts on which slices may be published: owner → "http://NAME.localhost:PORT". A slice has one route or more
   * with `from` at its host; `to` may be any upstream's origin.
   */
  readonly published: Readonly<Record<SliceOwner, string>>;
}

/** Owners of published slices; those named `rival` are for two publishers at once. */
export type SliceOwner = "versions" | "rival" | "spare";

export interface World {
  readonly store: StoreKind;
  /** For reading the store itself, through the same way as the gateways. */
  readonly storageUrl: string;
  readonly replicas: readonly Replica[];
  readonly addresses: PublicAddresses;
  /** user1@example.com and so on; the last one is outsider@other.example, whom no route but `open` lets in. */
  readonly users: readonly DemoUser[];
  readonly provider: IdentityProvider;
  readonly upstreams: {
    /** Behind `open` and `web`. */
    readonly web: SoakUpstream;
    /** Behind `tools`: answers every MCP message, tools echo their arguments. */
    readonly mcp: SoakUpstream;
  };
  /** Behind `connected`: authorization server and MCP endpoint in one; its tokens last `serviceTokenSeconds`. */
  readonly service: UpstreamService;
  /** Lifetimes are short, so that what ends does so within a soak. */
  readonly lifetimes: {
    readonly accessTokenSeconds: number;
    readonly serviceTokenSeconds: number;
    readonly sessionSeconds: number;
  };
  /** Any replica, also one that is down: as a client does that does not know. */
  pick(random: Random): Replica;
  /** Sends what goes to the public names to this replica, and all else where it says. Each request on a connection of its own. */
  send(replica: Replica): Send;
  /** The same for SDKs and for streams; connections are kept and shared. */
  fetch(replica: Replica): typeof fetch;
  /** The admin listener, with the right to everything. */
  admin(replica: Replica): AdminClient;
  /** Runs `gateway …` in a process of its own with the replica's configuration: ["block", "user", …]. Never rejects. */
  command(replica: Replica, args: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  /** A generator of its own for each name, from the soak's seed. */
  random(name: string): Random;
  /** Since the soak began. */
  now(): number;
  /** Aborted when traffic must end. */
  readonly ended: AbortSignal;
}

/** The soak itself: what main.ts reads from the command line. */
export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly stores: readonly StoreKind[];
  readonly replicas: number;
  /** Worker processes of each replica. */
  readonly workers: number;
  /** Names of faults; absent: all that can happen here. */
  readonly faults?: readonly string[];
  /** Faults that have a brief form, in that; what takes long is left out. For the form in `npm test`. */
  readonly brief?: boolean;
  /** Multiplies the pauses between operations; 1 for the command, more for the form in `npm test`. */
  readonly ease?: number;
  /** Where reports, histories and records are kept; absent: nowhere. */
  readonly keep?: string;
}

/** What traffic/ exports as `startTraffic(world, history, options)`, and extends by what it looks at in the end. */
export interface Traffic {
  /** Kinds of operations whose first success after a fault says that it has recovered. */
  readonly kinds: readonly string[];
  /** Ends all actors; resolves when the last operation has ended. */
  stop(): Promise<void>;
}
