// Controls that need no server: the list on a phone, Copy, Dismiss, the dialog; and Enter in small fields.
"use strict";

// The theme was chosen: this page follows at once, and the control that has not asked for it.
document.addEventListener("theme", ({ detail: { theme } }) => {
  document.documentElement.dataset.theme = theme;
  for (const radio of document.querySelectorAll("input[name=theme]")) radio.checked = radio.value === theme;
});

const list = (open) => {
  one(".app").classList.toggle("listing", open);
  one("#veil").hidden = !open;
  one("#drawer").setAttribute("aria-expanded", open);
  (open ? one(".side a") : one("#drawer")).focus();
};
// What was typed and pasted, whether that is folded up or not.
const wordsOf = (source) => {
  if (!source.matches(".plain")) return source.innerText.trim();
  const words = source.cloneNode(true);
  for (const label of words.querySelectorAll(".inset > summary")) label.remove();
  return words.textContent;
};
const copy = async (button, source) => {
  await navigator.clipboard.writeText(wordsOf(source));
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "drawer") list(true);
  else if (button.id === "veil") list(false);
  else if ("dismiss" in button.dataset) button.parentElement.remove();
  else if ("cancel" in button.dataset) keep(`draft:${button.form?.id}`, null);
  else if ("hides" in button.dataset) document.getElementById(button.dataset.hides).hidden = true;
  else if (button.matches(".copy")) copy(button, one(".text", button.closest(".message")));
  else if (button.matches(".code-head button")) copy(button, one("pre", button.closest(".code")));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && one(".app.listing")) list(false);
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("textarea[data-enter]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  const { target } = event.detail;
  if (target.id !== "reader") return;
  const menu = document.activeElement.closest("[popover]");
  if (!panel.open) { opener = menu && one(`[popovertarget="${menu.id}"]`); panel.showModal(); }
  target.scrollTop = 0;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-closes]");
  if (form && event.detail.successful) form.closest("[popover]").hidePopover();
});
