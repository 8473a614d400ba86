import { test } from "node:test";

import { expectAllow, expectDeny } from "../../../cdktf/testing.ts";
import { buildPayments } from "./main.ts";

const { ledger } = buildPayments({});
const clerk = { email: "clerk@example.com", groups: ["payments"] };

void test("clerks read the ledger and write nothing", () => {
  expectAllow(ledger, { ...clerk, tool: "read_entry" });
  expectDeny(ledger, { ...clerk, tool: "post_entry" });
});

void test("the treasury writes", () => {
  expectAllow(ledger, { ...clerk, groups: ["payments", "treasury"], tool: "post_entry" });
});

void test("others are kept out", () => {
  expectDeny(ledger, { email: "x@example.com", groups: ["treasury"], tool: "read_entry" });
  expectDeny(ledger, {});
});
