/** Settings of several slices: which members are the same one. */
import { expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../runtime/config/load.ts";
import { TEST_SHARED_SECRET } from "../../support/config.ts";

function problemsOf(one: object, other: object): readonly string[] {
  const slice = (owner: string, settings: object) => ({
    file: `${owner}.json`,
    boot: false,
    text: JSON.stringify({ version: 1, owner, settings, routes: {} }),
  });
  const boot = { insecure_server: true, shared_secret: TEST_SHARED_SECRET };
  const { problems } = loadSlices([
    { file: "gateway.json", boot: true, text: JSON.stringify(boot) },
    slice("a", one),
    slice("b", other),
  ]);
  return problems.filter(({ severity }) => severity === "error").map(formatProblem);
}

test.each(["set_response_headers", "jwt_claims_headers"])("%s: names of headers know no case", (name) => {
  expect(problemsOf({ [name]: { "X-Team": "team" } }, { [name]: { "x-team": "other" } })).toEqual([
    expect.stringMatching(
      /^b\.json:\S+ error: "settings\.\S+" is "other", which differs from "X-Team" in a\.json, must be the same/,
    ),
  ]);
  expect(problemsOf({ [name]: { "X-Team": "team" } }, { [name]: { "X-Team": "team", "X-More": "more" } })).toEqual([]);
});
