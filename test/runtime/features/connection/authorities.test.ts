import { expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";

/** @param tls of each route */
function problemsOf(tls: readonly object[]): readonly string[] {
  const routes = tls.map((each, at) => [
    `r${at}`,
    { from: `https://r${at}.example`, to: "https://a", policy: [{ allow: { and: [{ accept: true }] } }], ...each },
  ]);
  const text = JSON.stringify({ version: 1, owner: "team", routes: Object.fromEntries(routes) });
  return loadSlices([{ file: "slice.json", text, boot: false }])
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem);
}

const ca = (name: string): object => ({ tls_custom_ca: name.repeat(524_288) });

test("different authorities of a slice have at most 4 MiB in total, since OpenSSL takes 25 times as much; equal ones count once", () => {
  const eight = [..."abcdefgh".split("").map(ca), ca("a"), ca("b")];
  expect(problemsOf(eight)).toEqual([]);
  expect(problemsOf([...eight, { tls_custom_ca: "i" }])).toEqual([
    expect.stringContaining(
      'have 4194305 characters in different "tls_custom_ca", must have at most 4194304 in one slice',
    ),
  ]);
  const shown = { tls_client_cert: "c", tls_client_key_ref: "file:/key" };
  expect(problemsOf([...eight, { ...ca("a"), ...shown }])).toEqual([
    expect.stringContaining("have 4718592 characters"),
  ]);
});
