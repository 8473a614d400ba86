/**
 * What a screen of the console is. The frame (`console.ts`) does for all of them: who may, by which role, a fresh sign-in
 * before grave actions, both walls around forms, the rate limit, head, navigation, headers. A screen gathers data, and
 * `pages/console/` renders them.
 */
import type { Snapshot } from "../config/snapshot.ts";
import type { ConsoleRole } from "../features/access/console.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Principal } from "../identity/principal.ts";
import type { NavigationGroupName } from "../pages/console/frame.ts";
import type { Icon } from "../pages/console/icons.ts";
import type { Html } from "../pages/html.ts";

/** operator revokes and blocks, approver decides about calls, auditor sees arguments; each of them sees what a viewer sees. */
export type { ConsoleRole };

export interface ConsoleRights {
  /** In all owners' things. */
  readonly roles: ReadonlySet<ConsoleRole>;
  /** Owner → roles there, beside `roles`. */
  readonly byOwner: ReadonlyMap<string, ReadonlySet<ConsoleRole>>;
  /** Owners whose things may be read; undefined: all. */
  readonly owners: readonly string[] | undefined;
  /** May this role be used on this owner's things; without an owner: on what belongs to nobody or to all. */
  may(role: ConsoleRole, owner?: string): boolean;
}

/** One look at a page of the console, or one form. */
export interface ConsoleRequest {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly rights: ConsoleRights;
  /** Below the screen's own path, decoded: [] for /.gateway/console/people, ["alice"] for /.gateway/console/people/alice. */
  readonly path: readonly string[];
  readonly query: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The token for a form of this name (that of its action), for its field `csrf_token`. */
  csrf(form: string): string;
}

export interface ScreenPage {
  readonly title: string;
  /** A sentence below the title. */
  readonly lead?: string;
  /** Controls next to the title. */
  readonly aside?: Html;
  readonly body: Html;
  /** Default 200. */
  readonly status?: number;
  /** Names of scripts in addition to that of times, see `assets.ts`. */
  readonly scripts?: readonly string[];
  /** Path of the stream that a script opens. */
  readonly stream?: string;
}

/** What a form does. A screen's forms have the hidden fields `action` and `csrf_token`. */
export interface ScreenAction {
  readonly role: ConsoleRole;
  /** Needs a sign-in of the last 15 minutes. */
  readonly isSensitive: boolean;
  /** What is done, for the page that asks again after a fresh sign-in: "End a session". */
  readonly name: string;
  /** Owner of what it is done to, from the form; undefined: only with the role for everything. */
  ownerOf?(visit: ConsoleRequest, form: ReadonlyMap<string, string>): string | undefined | Promise<string | undefined>;
  /**
   * Does it, and writes its own record through `recordAction`.
   *
   * @returns what to tell the person and the path of the page to go on at (303), or why it was not done
   */
  run(visit: ConsoleRequest, form: ReadonlyMap<string, string>): Promise<ActionOutcome>;
}

export type ActionOutcome =
  | { readonly told: string; readonly to: string }
  | { readonly refused: string }
  /** Of what changes nothing and is too long for an address, such as a draft that is tried: shown at once. */
  | { readonly page: ScreenPage };

export interface Screen {
  /** "people" → /.gateway/console/people and below. */
  readonly path: string;
  /** In the navigation. */
  readonly name: string;
  readonly group: NavigationGroupName;
  readonly icon: Icon;
  /** It is reached by other ways than the navigation. */
  readonly isHidden?: boolean;
  /** Whether there can be anything for who has these rights; without it: for everybody. */
  isFor?(rights: ConsoleRights): boolean;
  /** Undefined: there is nothing at this address, or nothing that this person may see. */
  show(visit: ConsoleRequest): Promise<ScreenPage | undefined>;
  /** By the form's hidden field `action`. */
  readonly actions?: Readonly<Record<string, ScreenAction>>;
  /** Answers downloads and streams by itself, before `show`. @returns false: nothing was answered */
  respond?(visit: ConsoleRequest): Promise<boolean>;
  /** Whether this path below the screen's is asked by one of its scripts, and not by a window. */
  isForScripts?(path: readonly string[]): boolean;
  /** Of its forms; 16 KiB by default. */
  readonly maxFormBytes?: number;
}
