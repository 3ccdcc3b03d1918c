// Controls that need no server: the theme, the list at the side, Dismiss, the panel; and Enter in small fields.
// Listens to theme, click, keydown, submit, beforetoggle, htmx:afterSwap and afterRequest, and to the closing of the panel.
import { find, panel } from "./page.js";

// The worker shows a page of its own where the site cannot be reached; without TLS browsers have none but on this machine.
navigator.serviceWorker?.register("/worker.js").catch(() => {});

// The theme was chosen: this page follows at once, and so does a control that has not asked for it.
document.addEventListener("theme", ({ detail: { theme } }) => {
  document.documentElement.dataset.theme = theme;
  for (const radio of document.querySelectorAll("input[name=theme]")) radio.checked = radio.value === theme;
});

const narrow = matchMedia("(max-width: 760px)");

// Opens or closes the list: on a phone over the page, until something else is pressed; elsewhere beside it, for all pages to come.
export const showList = (open) => {
  if (narrow.matches) {
    find(".app").classList.toggle("listing", open);
    find("#veil").hidden = !open;
  } else {
    find(".app").classList.toggle("folded", !open);
    document.cookie = `list=${open ? "open" : "folded"}; path=/; max-age=31536000; samesite=lax`;
  }
  find("#drawer").setAttribute("aria-expanded", open);
  (open ? find(".side a") : find("#drawer")).focus();
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "drawer") showList(true);
  else if (button.id === "veil" || button.id === "fold") showList(false);
  else if (button.id === "select") import("./selecting.js").then(({ begin }) => begin());
  else if ("dismiss" in button.dataset) button.parentElement.remove();
  else if ("hides" in button.dataset) document.getElementById(button.dataset.hides).hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && find(".app.listing")) showList(false);
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("textarea[data-enter]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});

// Enter in a form that sends each change: the change is on its way, and the browser would leave the page before it is kept.
document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("hx-trigger") === "change") event.preventDefault();
});

// A menu of the list, or of a message, is empty until it is first opened.
document.addEventListener("beforetoggle", (event) => {
  const { target, newState } = event;
  const { filledFrom } = target.dataset;
  if (newState === "open" && filledFrom && !target.childElementCount) htmx.ajax("GET", filledFrom, { source: target, event, target, swap: "innerHTML" });
  // The title may have changed since the page was loaded.
  if (newState === "open" && target.id === "conversation-menu") {
    const [field, title] = [find("[name=title]", target), find("h1").textContent];
    if (title !== field.placeholder) field.value = title;
  }
}, true);

// The control that opened the panel has the focus again; where that was in a menu, which is closed by now, the control
// that opens the menu.
let opener = null;
document.addEventListener("htmx:afterSwap", (event) => {
  const { target } = event.detail;
  if (target.id === "dock") import("./dock.js").then(({ open }) => open());
  if (target.id !== "reader") return;
  const menu = document.activeElement.closest("[popover]");
  if (!panel.open) { opener = menu && find(`[popovertarget="${menu.id}"]`); panel.showModal(); }
  target.scrollTop = 0;
});
panel.addEventListener("close", () => {
  for (const part of panel.querySelectorAll(":scope > :is(#reader, #panel-alert)")) part.replaceChildren();
  if (document.activeElement === document.body) opener?.focus();
});
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-closes]");
  if (!form || !event.detail.successful) return;
  const around = form.closest("[popover], dialog");
  if (around.matches("dialog")) around.close(); else around.hidePopover();
});
