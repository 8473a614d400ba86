/** Texts of others (clients, upstreams, users) before the eyes of administrators. */
export { foreignLines as showUntrustedLines, foreignText as showUntrusted } from "../shared/json/foreign-text.ts";
