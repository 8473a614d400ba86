/** How a user adds a server to one MCP client, as text to copy. The clients are listed in features/mcp/. */
export interface ClientRecipe {
  readonly client: string;
  /** Where the text belongs: "In a terminal". */
  readonly where: string;
  /** A click selects all of it. */
  readonly text: string;
  /** Address that makes the client itself add the server. */
  readonly link?: string;
}
