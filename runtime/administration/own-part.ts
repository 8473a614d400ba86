/** The part of a kind that is on the portal, for the users to whom its objects belong. */
import type { Icon } from "../pages/icons.ts";
import type { Html, HtmlValue } from "../pages/html.ts";

/** Context of a row on the portal. */
export interface OwnSeen {
  /** ID of the session of this browser. */
  readonly sessionId: string;
  /** IDs of the devices that this session has verified. */
  readonly deviceIds: readonly string[];
  /** Whether some route requires a device. */
  readonly needsDevices: boolean;
}

/** A part of the portal, on which users see and end what acts for them. Texts of clients go through `visibleText`. */
export interface OwnPart<T> {
  readonly heading: string;
  readonly icon: Icon;
  /** On the page: lower numbers come first. */
  readonly order: number;
  /** Whether the part is shown without objects, with the text `empty`. */
  isShownEmpty(seen: OwnSeen): boolean;
  readonly empty: Html;
  /** Below the objects. */
  readonly foot?: Html;
  row(
    thing: T,
    seen: OwnSeen,
  ): {
    readonly name: HtmlValue;
    /** Below the name. */
    readonly text: HtmlValue;
    /** It cannot be ended here. */
    readonly isCurrent?: boolean;
    /** The button, and the words that complete it for users of screen readers. */
    readonly end: { readonly button: string; readonly of: string };
  };
}
