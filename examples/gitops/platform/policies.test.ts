import { test } from "node:test";

import { expectAllow } from "../../../cdktf/testing.ts";
import { buildPlatform } from "./main.ts";

void test("everybody may see the status page", () => {
  expectAllow(buildPlatform({}).status, {});
});
