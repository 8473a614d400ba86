/** Texts of others (clients, upstreams, users) before the eyes of administrators. */
export { foreignLines as strangeLines, foreignText as strange } from "../shared/json/foreign-text.ts";
