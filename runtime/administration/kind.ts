/**
 * Stored objects for administrators, described once: each kind is one description, and all surfaces are generated from
 * it. These are the console's tables, confirmation pages and forms (`console/objects/`), `gateway <kind> list
 * show
 * revoke` (`tools/commands/objects.ts`), and the admin API with its OpenAPI document (`admin-listener/objects/`).
 *
 * A new kind is a file in `kinds/`; `npm run pages` lists it in `kinds.ts`. Promise: no field holds a secret.
 */
import type { AdminAction } from "../audit/action-record.ts";
import type { Revocations } from "../identity/interfaces.ts";
import { emailsOf } from "../identity/users/emails-of.ts";
import type { NavigationGroupName } from "../pages/console/frame.ts";
import type { Icon } from "../pages/console/icons.ts";
import type { Html, HtmlValue } from "../pages/html.ts";
import { consoleTime, type TableColumn } from "../pages/console/pieces.ts";
import { timeText, type Clock } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import type { PageOf, PageRequest } from "../store/page-of.ts";
import type { Store } from "../store/store.ts";
import type { OwnPart } from "./own-part.ts";
import type { PublishTokens } from "./publish-tokens.ts";

export interface KindDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly publishTokens: PublishTokens;
}

/** Email addresses by user ID, of the owners of the shown objects. */
export type Emails = ReadonlyMap<string, string>;

/** A machine-readable field: a member of the API's objects, and a column of the command's table. */
export interface ObjectField<T> {
  readonly name: string;
  /** A sentence without its end. */
  readonly doc: string;
  /** "time": its values are epoch seconds, and are written as `2026-11-20T18:00:00Z`. */
  readonly type: "text" | "time";
  readonly values?: readonly string[];
  value(thing: T, emails: Emails): string | number | undefined;
}

export function textField<T>(
  name: string,
  doc: string,
  value: ObjectField<T>["value"],
  values?: readonly string[],
): ObjectField<T> {
  return { name, doc, type: "text", value, ...(values && { values }) };
}

export function timeField<T>(name: string, doc: string, value: ObjectField<T>["value"]): ObjectField<T> {
  return { name, doc, type: "time", value };
}

/** Further data of a console page. */
export interface Seen {
  readonly emails: Emails;
  /**
   * A link to the confirmation page.
   *
   * @param of the object, for users of screen readers
   * @returns undefined: the administrator does not have the role
   */
  readonly link: (action: string, thing: object, text: string, of: string) => Html | undefined;
}

/** Further data of the page of one user. */
export interface SeenOfUser extends Seen {
  /** ID of the administrator's own session. */
  readonly sessionId: string | undefined;
  /** Names of devices, and IP addresses of sessions, by ID. */
  readonly deviceNames: ReadonlyMap<string, string>;
  readonly lastFrom: ReadonlyMap<string, string>;
  /** @returns the verifier of a client's name; undefined: unverified */
  readonly vouchedBy: (clientId: string) => string | undefined;
  /** Addresses of the pages of a client and of a route. */
  readonly clientHref: (clientId: string) => string;
  readonly routeHref: (routeKey: string) => string;
}

/** The console's table. Texts of users and clients in its cells pass through `foreignText`. */
export interface ObjectTable<T, S> {
  /** `id` in the markup. */
  readonly id: string;
  readonly caption: (rows: number, isCut: boolean) => string;
  readonly columns: readonly (TableColumn & { cell(thing: T, seen: S): HtmlValue })[];
  /** Shown instead of a table without rows. */
  readonly empty: Html;
}

/** A separate screen. Other kinds are on pages of users and clients. */
export interface OwnScreen {
  /** "Blocks" */
  readonly name: string;
  readonly group: NavigationGroupName;
  readonly icon: Icon;
  /** No object belongs to an owner: only roles for all owners see the screen. */
  readonly isUnowned?: true;
  /** Label of the filter by `kind`, and of the search. */
  readonly filter: { readonly kind?: readonly [label: string, all: string]; readonly search: string };
  readonly emptyFiltered: Html;
  readonly more: string;
}

/** A field for an administrator to fill in. */
export interface Input {
  readonly name: string;
  /** In the console, and in the API's document. */
  readonly label: string;
  readonly values?: readonly string[];
  readonly isRequired?: boolean;
}

/** An administrator's request to change something. */
export interface Asked {
  /** Display name: an email address, a user name, "admin_token". */
  readonly by: string;
  readonly reason: string;
  /** The user ends an object of their own, on the portal. */
  readonly isOwn?: true;
  readonly record: (action: Omit<AdminAction, "by" | "reason">) => void | Promise<void>;
}

interface Change {
  /** Name of the action in the console's form: "unblock". */
  readonly name: string;
  /** In addresses: "lift". */
  readonly path: string;
  /** "Sign out session" */
  readonly title: string;
  /** Label of the console's button, if it is not the title. */
  readonly button?: string;
  /** The result, as sentences. */
  readonly effect: string;
  readonly role: "operator" | "approver";
  /** The console requires a sign-in within the last 15 minutes. */
  readonly isSensitive: boolean;
}

/** Actions on one object. */
export interface Action<T, D> extends Change {
  /** Target in its record: "session abc of alice". */
  target(thing: T): string;
  /** Further identification of the object, on the confirmation page: "valid for owner team-a". */
  details?(thing: T): string;
  /** Heading of the confirmation page; default: the title. */
  heading?(thing: T): string;
  /** Text of that page instead of the effect. */
  text?(thing: T): HtmlValue;
  /** Writes its own record. @returns the result, for the console; undefined: the object no longer existed */
  run(deps: D, thing: T, asked: Asked): Promise<string | undefined>;
}

/** Creation of an object of a kind. */
export interface Creation<D> extends Change {
  readonly inputs: readonly Input[];
  ownerOf(values: ReadonlyMap<string, string>): string | undefined;
  /** Writes its own record. @throws GatewayError with the kind's `wrong` code */
  run(
    deps: D,
    values: ReadonlyMap<string, string>,
    asked: Asked,
  ): Promise<{ readonly ids: readonly string[]; readonly told: string }>;
}

export interface KindQuery extends PageRequest {
  /** By the names of `filters`. */
  readonly filters: ReadonlyMap<string, string>;
}

/** Object named by a form or an address of the console. */
export interface Named {
  readonly id: string;
  readonly owner: string | undefined;
  /** Response if the object does not exist. */
  readonly gone: string;
}

export interface Kind<T = object, D = KindDeps, S = Seen> {
  /** "block", "service-account" */
  readonly name: string;
  /** In addresses of the API and of the console: "blocks". */
  readonly plural: string;
  /** After "gateway": "blocks", "sessions list". */
  readonly command: string;
  /** A sentence without its end: "Active blocks". */
  readonly doc: string;
  /** In the order of the command's columns. */
  readonly fields: readonly ObjectField<T>[];
  /** Names of the fields that lists can be filtered by. */
  readonly filters: readonly string[];
  /** Text of the command for an empty list. */
  readonly none: string;
  /** Absent: the console has another kind of page. */
  readonly table?: ObjectTable<T, S>;
  readonly screen?: OwnScreen;
  /** Its table is on the page of the user who owns these objects. */
  readonly ofUser?: {
    readonly heading: string;
    /** Position on the page: lower numbers come first. */
    readonly order: number;
    /** Without objects, the heading is hidden. */
    readonly hidesWhenEmpty?: true;
  };
  /** Users see and end theirs on the portal. It needs an action whose `path` is `end`. */
  readonly own?: OwnPart<T>;
  /** The code of errors about what was entered. */
  readonly wrong?: string;
  /** Error message for a missing required reason. */
  readonly needsReason?: string;
  idOf(thing: T): string;
  /** The user whose email address is shown; undefined: none. */
  userOf(thing: T): string | undefined;
  /** Owner of the configuration that it belongs to; undefined: only roles for all owners apply. */
  ownerOf(thing: T): string | undefined;
  /** How a console form identifies an object, if not by its ID in the field `of`. */
  readonly byForm?: {
    fieldsOf(thing: T): readonly (readonly [name: string, value: string])[];
    named(read: (name: string) => string): Named;
  };
  /** Texts that the console's search compares. */
  texts?(thing: T): readonly (string | undefined)[];
  /** Whether the text is a valid `after` of a request. */
  readonly isPlace: (after: string) => boolean;
  /** Order of the command's table; default: that of `page`. */
  inTable?(a: T, b: T): number;
  /** In a stable order. @throws GatewayError `store.unavailable` */
  page(deps: D, query: KindQuery): Promise<PageOf<T>>;
  /** @param userId if only an object of this user is meant @throws GatewayError `store.unavailable` */
  find(deps: D, id: string, userId?: string): Promise<T | undefined>;
  readonly creation?: Creation<D>;
  readonly actions: readonly Action<T, D>[];
}

export const MOST_IN_PAGE = 200;

/** A kind with a table in the console. */
export type ShownKind<T, D = KindDeps, S = Seen> = Kind<T, D, S> & { readonly table: ObjectTable<T, S> };

/** A row of the command's table: texts, and times as `2026-11-20T18:00:00Z`. */
export function rowOf<T>(kind: Kind<T, never, never>, thing: T, emails: Emails): Record<string, string | undefined> {
  return Object.fromEntries(
    kind.fields.map((field) => {
      const value = field.value(thing, emails);
      return [field.name, typeof value === "number" ? timeText(value) : value];
    }),
  );
}

/** Email addresses of the objects' users. @throws GatewayError `store.unavailable` */
export function emailsFor<T>(
  { userOf }: Pick<Kind<T, never, never>, "userOf">,
  store: Store,
  things: readonly T[],
): Promise<Emails> {
  return emailsOf(
    store,
    things.flatMap((thing) => userOf(thing) ?? []),
  );
}

/** The kind in a sentence: "service account". */
export function wordsOf({ name }: Pick<Kind, "name">): string {
  return name.replaceAll("-", " ");
}

/** Field of every kind that belongs to users. */
export function emailField<T>(userOf: (thing: T) => string): ObjectField<T> {
  return textField("email", "Email address of the user", (thing, emails) => emails.get(userOf(thing)));
}

/** @param at epoch seconds */
export function timeColumn<T>(name: string, at: (thing: T) => number) {
  return { name, kind: "short" as const, cell: (thing: T) => consoleTime(at(thing) * 1000, "minute") };
}

/** Last column of most tables, with links to actions. */
export const LAST_COLUMN = { name: "Actions", kind: "short", isQuiet: true } as const;

export function lastColumn<T extends object>(action: string, text: string, of: (thing: T) => string) {
  return {
    ...LAST_COLUMN,
    cell: (thing: T, { link }: Pick<Seen, "link">) => link(action, thing, text, of(thing)),
  };
}
