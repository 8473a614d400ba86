/** The part of a kind on the portal, for the owners of its objects. */
import type { Icon } from "../pages/icons.ts";
import type { Html, HtmlValue } from "../pages/html.ts";

/** Context of a row on the portal. */
export interface OwnSeen {
  /** ID of this browser's session. */
  readonly sessionId: string;
  /** IDs of the devices that this session has verified. */
  readonly deviceIds: readonly string[];
  /** Whether some route requires a device. */
  readonly needsDevices: boolean;
}

/**
 * A part of the portal, on which users view and end access in their name. Texts of clients pass through `visibleText`.
 */
export interface OwnPart<T> {
  readonly heading: string;
  readonly icon: Icon;
  /** Position on the page: lower numbers come first. */
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
    /** Cannot be ended here. */
    readonly isCurrent?: boolean;
    /** The button, and words that complete its label for users of screen readers. */
    readonly end: { readonly button: string; readonly of: string };
  };
}
