/** Options of `gateway init`. */
import { createInterface } from "node:readline/promises";

import type { Command } from "commander";

import { QUESTIONS, type InitAnswers } from "./questions.ts";

export function addInit(
  program: Command,
  exit: (code: number) => void,
  { print, version }: { readonly print: (text: string) => void; readonly version: string },
): void {
  const command = program
    .command("init")
    .description("Write a first configuration, and what runs it. Asks for what no option says")
    .argument("[directory]", "Directory to write to; existing files are never replaced", ".")
    .option("--yes", "Do not ask: use defaults for what no option says")
    .option("--json", "Print the written files and next steps as JSON");
  for (const { option, text, choices } of QUESTIONS)
    command.option(option, choices ? `${text}: ${choices.join(", ")}` : text);
  command
    .addHelpText("after", "\nThe client secret is read from the environment variable IDP_CLIENT_SECRET.")
    .action(
      async (directory: string, options: Partial<Record<keyof InitAnswers, string>> & { yes?: true; json?: true }) => {
        const { yes, json, ...given } = options;
        const isAsking = yes === undefined && json === undefined && process.stdin.isTTY && process.stdout.isTTY;
        const lines = isAsking ? createInterface({ input: process.stdin, output: process.stdout }) : undefined;
        // Ctrl-D ends the questions.
        const ended = new AbortController();
        lines?.once("close", () => ended.abort());
        // Loaded on demand, as few commands need it.
        const { initGateway } = await import("./init.ts");
        try {
          const { files, steps } = await initGateway({
            directory,
            given,
            ask:
              lines &&
              (async (text, fallback) =>
                (await lines.question(`${text}${fallback === undefined ? "" : ` [${fallback}]`}: `, {
                  signal: ended.signal,
                })) ||
                (fallback ?? "")),
            clientSecret: process.env["IDP_CLIENT_SECRET"] ?? "",
            version,
          });
          if (json) print(JSON.stringify({ files, steps }, null, 2));
          else
            print(
              [
                ...files.map((file) => `wrote ${file}`),
                "",
                "Next:",
                ...steps.map((step, index) => `${index + 1}. ${step}`),
              ].join("\n"),
            );
          exit(0);
        } finally {
          lines?.close();
        }
      },
    );
}
