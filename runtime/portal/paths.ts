/** Form endpoint of the portal that ends an object of the user. */
export const OWN_PATH = "/.gateway/own";
