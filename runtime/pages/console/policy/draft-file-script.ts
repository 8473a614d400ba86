/** Reads a chosen file into the field of a draft. Without it the field alone is there. */
export const DRAFT_FILE_SCRIPT = `"use strict";
const upload = document.getElementById("draft-upload");
const file = document.getElementById("draft-file");
const text = document.getElementById("draft-text");
if (upload && file && text) {
  upload.hidden = false;
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const read = await chosen.slice(0, 4 * 1024 * 1024).text();
    text.value = read;
    text.focus();
  });
}
`;
