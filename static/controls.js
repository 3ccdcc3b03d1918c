// Controls that need no server: the list on a phone, Dismiss, the dialog; and Enter in small fields.
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

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "drawer") list(true);
  else if (button.id === "veil") list(false);
  else if ("dismiss" in button.dataset) button.parentElement.remove();
  else if ("cancel" in button.dataset) keep(`draft:${button.form?.id}`, null);
  else if ("hides" in button.dataset) document.getElementById(button.dataset.hides).hidden = true;
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
