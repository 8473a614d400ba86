import { describe, expect, test } from "vitest";

import { parseIcon } from "../../../../runtime/features/catalog/icon.ts";
import { aboutShape } from "../../../../runtime/features/catalog/settings.ts";
import { block } from "../../../../runtime/settings/types/block.ts";

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const uri = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString("base64")}`;

describe("parseIcon()", () => {
  test("reads images by their signature", () => {
    const webp = Buffer.from("RIFF....WEBPVP8 ");
    expect(parseIcon(uri("image/png", PNG))).toMatchObject({ ok: true, value: { type: "image/png", bytes: PNG } });
    expect(parseIcon(uri("image/jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0])))).toMatchObject({ ok: true });
    expect(parseIcon(uri("image/webp", webp))).toMatchObject({ ok: true });
  });

  test.each([
    ["a URL, which every reader would load from elsewhere", "https://example.com/i.png", /must be "data:/],
    ["an image with scripts", uri("image/svg+xml", Buffer.from("<svg/>")), /must be "data:/],
    ["another type than stated", uri("image/jpeg", PNG), /of the type that it states \(image\/jpeg\)/],
    ["a page", uri("image/png", Buffer.from("<html>")), /of the type that it states/],
    ["characters that decoding skips", `${uri("image/png", PNG)}\n`, /must be "data:/],
    ["no image", "data:image/png;base64,", /must be "data:/],
    ["a large image", uri("image/png", Buffer.concat([PNG, Buffer.alloc(16_384)])), /at most 16,384 bytes, has 16,395/],
  ])("rejects %s", (_what, text, problem) => {
    expect(parseIcon(text)).toMatchObject({ ok: false, problem: expect.stringMatching(problem) as string });
  });
});

describe("aboutShape", () => {
  const about = block(aboutShape, { doc: "" });
  const problems = (value: object): readonly string[] =>
    about.safeParse(value).error?.issues.map(({ message }) => message) ?? [];

  test.each([
    [{ title: "one\ntwo" }, /printable characters/],
    [{ description: "one\ntwo" }, "must be one line, without control characters"],
    [{ description: "x".repeat(301) }, "is longer than 300 characters"],
    [{ version: "^1.2" }, 'is "^1.2", must be a version such as "1.4.2", not a range'],
    [{ version: "1.x" }, 'is "1.x", must be a version such as "1.4.2", not a range'],
    [{ documentation_url: "http://docs.example.com" }, 'is "http://docs.example.com", must start with https://'],
    [{ contact: "javascript:alert(1)" }, /must start with https:\/\/, or be an address/],
    [{ catalog: "all" }, /must be "users" or "public"/],
    [{ icon: "icon.png" }, /^is "icon\.png"…, must be "data:image\/png;base64,…"/],
  ])("rejects %j", (value, problem) => {
    expect(problems(value)).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
  });

  test("accepts a whole description", () => {
    expect(
      problems({
        title: "Orders",
        description: "Orders database",
        icon: uri("image/png", PNG),
        version: "2026.11-rc1",
        documentation_url: "https://docs.example.com/orders",
        contact: "mailto:orders@example.com",
        catalog: "public",
      }),
    ).toEqual([]);
  });
});
