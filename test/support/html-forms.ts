/** Links and forms of server-rendered pages, enough for tests: flat markup, quoted attributes. */

export interface Link {
  readonly href: string;
  readonly text: string;
}

export interface Form {
  readonly method: string;
  readonly action: string;
  /** Fields with their initial values. */
  readonly values: Record<string, string>;
  readonly buttons: readonly { readonly text: string; readonly name: string | undefined; readonly value: string }[];
}

export function findLinks(page: string): readonly Link[] {
  return [...page.matchAll(/<a\b([^>]*)>([^]*?)<\/a\s*>/g)].map(([, attributes = "", content = ""]) => ({
    href: attribute(attributes, "href") ?? "",
    text: textOf(content),
  }));
}

export function findForms(page: string): readonly Form[] {
  return [...page.matchAll(/<form\b([^>]*)>([^]*?)<\/form>/g)].map(([, attributes = "", content = ""]) => {
    const id = attribute(attributes, "id");
    const inputs = [...content.matchAll(/<(?:input|textarea)\b([^>]*)>/g)].map(([, each = ""]) => each);
    const isSent = (each: string): boolean => !/\btype="?(checkbox|radio)/.test(each) || /\bchecked\b/.test(each);
    const buttons = [...page.matchAll(/<button\b([^>]*)>([^]*?)<\/button>/g)].filter(
      ([whole, each = ""]) => content.includes(whole) || (id !== undefined && attribute(each, "form") === id),
    );
    return {
      method: (attribute(attributes, "method") ?? "get").toLowerCase(),
      action: attribute(attributes, "action") ?? "",
      values: Object.fromEntries(
        inputs.filter(isSent).flatMap((each) => {
          const name = attribute(each, "name");
          return name === undefined ? [] : [[name, attribute(each, "value") ?? ""]];
        }),
      ),
      buttons: buttons.map(([, each = "", text = ""]) => ({
        text: textOf(text),
        name: attribute(each, "name"),
        value: attribute(each, "value") ?? "",
      })),
    };
  });
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(attributes);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value);
}

function textOf(markup: string): string {
  return decodeEntities(markup.replace(/<[^>]*>/g, " "))
    .replace(/\s+/g, " ")
    .trim();
}

function decodeEntities(text: string): string {
  const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return named[name ?? ""] ?? whole;
  });
}
