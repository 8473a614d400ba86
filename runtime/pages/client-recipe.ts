/** How a person adds a server to one MCP client, as text to copy; which clients there are, features/mcp/ knows. */
export interface ClientRecipe {
  readonly client: string;
  /** Where the text belongs: "In a terminal". */
  readonly where: string;
  /** A click selects the whole of it (see `pre` in layout.ts). */
  readonly text: string;
}
