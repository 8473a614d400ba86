/** Version of this program: that of the package, which a test compares. */
export const VERSION = "0.1.0";
