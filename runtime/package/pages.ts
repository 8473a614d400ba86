/**
 * `npm run pages`: writes the generated pages and one generated list, so that they cannot lag behind the code. A test
 * compares them.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

import { settingsPages } from "../config/surfaces/reference.ts";
import { policyReference } from "../config/surfaces/policy-reference.ts";
import { endpointParts } from "./pages/endpoints.ts";
import { guideParts, webhookParts } from "./pages/guide.ts";
import { fillParts } from "./pages/parts.ts";
import { errorParts, logParts } from "./pages/reference.ts";
import { argumentParts, terraformParts } from "./pages/terraform.ts";

const ROOT = new URL("../../", import.meta.url);

/** @returns path from the root → generated text */
export function madePages(): ReadonlyMap<string, string> {
  const filled = (path: string, parts: Readonly<Record<string, string>>): readonly [string, string] => [
    path,
    fillParts(readFileSync(new URL(path, ROOT), "utf8"), parts),
  ];
  return new Map([
    ...settingsPages(),
    ["runtime/reference/policy.md", `${policyReference()}\n`],
    ...Object.entries(guideParts()).map(([page, parts]) => filled(`runtime/guide/${page}.md`, parts)),
    filled("runtime/reference/endpoints.md", endpointParts()),
    filled("runtime/operations/webhook.md", webhookParts()),
    filled("runtime/reference/errors.md", errorParts()),
    filled("runtime/reference/log-messages.md", logParts()),
    filled("runtime/reference/terraform-arguments.md", argumentParts()),
    ["runtime/administration/kinds.ts", kindsText(readdirSync(new URL("runtime/administration/kinds", ROOT)))],
    filled("runtime/terraform/README.md", terraformParts()),
  ]);
}

/** The list of all kinds. @param files of `administration/kinds/`: "tool-drift.ts" has `TOOL_DRIFT` */
function kindsText(files: readonly string[]): string {
  const kinds = files.toSorted().map((file) => [file, file.replace(".ts", "").replaceAll("-", "_").toUpperCase()]);
  return [
    "/** All kinds of stored objects that administrators see. Made by `npm run pages`. */",
    'import type { Kind } from "./kind.ts";',
    ...kinds.map(([file, name]) => `import { ${name} } from "./kinds/${file}";`),
    "",
    "export const KINDS: readonly Kind[] = [",
    ...kinds.map(([, name]) => `  ${name},`),
    "] as readonly Kind[];",
    "",
  ].join("\n");
}

if (import.meta.main) for (const [path, text] of madePages()) writeFileSync(new URL(path, ROOT), text);
