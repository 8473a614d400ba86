/** `npm run pages`: writes what is made in the pages from code, so that it cannot lag behind. A test compares. */
import { readFileSync, writeFileSync } from "node:fs";

import { configReference } from "../config/surfaces/reference.ts";
import { guideParts } from "./pages/guide.ts";
import { operationsParts } from "./pages/operations.ts";
import { fillParts } from "./pages/parts.ts";
import { terraformParts } from "./pages/terraform.ts";

const ROOT = new URL("../../", import.meta.url);

/** @returns path from the root → text as it should be */
export function madePages(): ReadonlyMap<string, string> {
  const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");
  return new Map([
    ["runtime/REFERENCE.md", `${configReference()}\n`],
    ["runtime/GUIDE.md", fillParts(read("runtime/GUIDE.md"), guideParts())],
    ["runtime/OPERATIONS.md", fillParts(read("runtime/OPERATIONS.md"), operationsParts())],
    ["runtime/terraform/README.md", fillParts(read("runtime/terraform/README.md"), terraformParts())],
  ]);
}

if (import.meta.main) for (const [path, text] of madePages()) writeFileSync(new URL(path, ROOT), text);
