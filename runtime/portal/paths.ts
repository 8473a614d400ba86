/** Where forms of the portal end what acts for the user. */
export const OWN_PATH = "/.gateway/own";
