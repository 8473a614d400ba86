/** A difference, as pages show it. */
import type { DifferenceView } from "../../pages/console/policy/difference.ts";
import type { ReportedDifference } from "../../simulation/protocol.ts";
import { addressOf, fieldsOf } from "../simulator/read-fields.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { CONSOLE_PATH } from "../console-requests.ts";

/** An address that is longer is refused on its way. */
const MAX_ADDRESS = 4_000;

/** @param draft with which its examples are tried */
export function differenceView(difference: ReportedDifference, draft?: string): DifferenceView {
  const { statements, leftOut, settings, gaps } = difference;
  return {
    statements: statements.map(({ place, kind, text, route, example }) => {
      const href = example && addressOf(`${CONSOLE_PATH}/simulator`, fieldsOf(example, route), draft);
      const tryHref = href !== undefined && href.length <= MAX_ADDRESS ? href : undefined;
      return { place: showUntrusted(place, 400), kind, text: showUntrusted(text, 1_000), tryHref };
    }),
    leftOut,
    settings: settings.map(({ route, name, change, before = "", after = "" }) => ({
      where: route === "" ? "the gateway" : showUntrusted(route),
      name: name === "" ? "the whole route" : showUntrusted(name),
      change,
      before: showUntrusted(before),
      after: showUntrusted(after),
    })),
    gaps: gaps.map((gap) => showUntrusted(gap, 500)),
  };
}
