/** The script of every page's frame: "/" leads to the search box. */
export const FRAME_SCRIPT = `"use strict";
{
  const search = document.getElementById("search");
  const hint = document.querySelector(".find kbd");
  hint.hidden = false;
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.closest("input, select, textarea, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
}
`;
