/** A difference, as pages show it. */
import type { DifferenceView } from "../../pages/console/policy/difference.ts";
import type { ToldDifference } from "../../simulation/protocol.ts";
import { addressOf, fieldsOf } from "../simulator/read-fields.ts";
import { strange } from "../strange.ts";
import { CONSOLE_PATH } from "../visits.ts";

/** An address that is longer is refused on its way. */
const MAX_ADDRESS = 4_000;

/** @param draft with which its examples are tried */
export function differenceView(difference: ToldDifference, draft?: string): DifferenceView {
  const { statements, leftOut, settings, gaps } = difference;
  return {
    statements: statements.map(({ place, kind, text, route, example }) => {
      const href = example && addressOf(`${CONSOLE_PATH}/simulator`, fieldsOf(example, route), draft);
      const tryHref = href !== undefined && href.length <= MAX_ADDRESS ? href : undefined;
      return { place: strange(place, 400), kind, text: strange(text, 1_000), tryHref };
    }),
    leftOut,
    settings: settings.map(({ route, name, change, before = "", after = "" }) => ({
      where: route === "" ? "the gateway" : strange(route),
      name: name === "" ? "the whole route" : strange(name),
      change,
      before: strange(before),
      after: strange(after),
    })),
    gaps: gaps.map((gap) => strange(gap, 500)),
  };
}
