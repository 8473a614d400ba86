/**
 * Starts the files that take longest first: one of them begun last would keep one worker busy while the others have nothing
 * left. Without a record of earlier runs vitest orders by size, and a file that runs other programs is often a small one.
 */
import { relative } from "node:path";

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Longest first, above 20 s where four run at once on two cores. */
export const LONGEST = [
  "test/package/npm-package.test.ts",
  "test/cdktf/examples.test.ts",
  "test/terraform/process.test.ts",
  "test/terraform/http-target.test.ts",
  "test/examples/console.test.ts",
  "test/soak/soak.test.ts",
  "test/examples/cdktf-cli.test.ts",
  "test/runtime/workers/workers.test.ts",
  "test/package/provider-package.test.ts",
  "test/pages/pages.test.ts",
  "test/pages/console.test.ts",
  "test/conformance/client-adapter.test.ts",
  "test/cdktf/terraform.test.ts",
  "test/cdktf/cdktn.test.ts",
  "test/examples/enterprise.test.ts",
  "test/hostile/sockets.test.ts",
  "test/terraform/secrets-nowhere.test.ts",
  "test/conformance/conformance.test.ts",
  "test/flows/key-rotation.test.ts",
  "test/examples/tool-policy.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
