// Finds words in the chat, and goes to a date. Listens to click, keydown, change, htmx:afterSwap and the closing of the panel.
import { jumpTo, unmark } from "./jumps.js";
import { amount, find, gettext, panel } from "./page.js";

const bar = find("#finder"), field = find("#find-words"), place = bar?.parentElement, after = bar?.nextElementSibling;
let hits = [], at = -1, isCut = false;

const tell = () => {
  const many = isCut ? gettext("%(number)s or more", { number: amount(hits.length) }) : amount(hits.length);
  find("#find-count").textContent = !field.value.trim() ? "" : !hits.length ? gettext("Not found") : at < 0 ? many : gettext("%(number)s of %(all)s", { number: amount(at + 1), all: many });
  for (const button of bar.querySelectorAll("[data-find]")) button.disabled = !hits.length;
};

// A message that is not on the page opens in the panel, which covers all else: the bar moves there with it, and back. What
// moves loses the focus, and has it again afterwards.
let focused = null;
const move = (moves) => {
  focused = bar.contains(document.activeElement) ? document.activeElement : focused;
  moves();
  focused?.focus();
};
const go = (id) => {
  focused = null;
  if (!document.getElementById(`message-${id}`) && !panel.contains(bar)) move(() => panel.prepend(bar));
  jumpTo(id, { keepsFocus: true });
};
const step = (by) => {
  if (!hits.length) return;
  at = at < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
  tell();
  go(hits[at]);
};

const open = () => {
  bar.hidden = false;
  find("#find-open").ariaExpanded = "true";
  field.focus();
  field.select();
};
const close = () => {
  if (panel.contains(bar)) panel.close();
  bar.hidden = true;
  find("#find-open").ariaExpanded = "false";
  unmark();
  find("#find-open").focus();
};

const pick = () => {
  find("#find-date").focus();
  try { find("#find-date").showPicker(); } catch { /* the keys work in it */ }
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.id === "find-open") { if (bar.hidden) open(); else close(); }
  else if (button?.id === "find-close") close();
  else if (button?.dataset.find) step(Number(button.dataset.find));
  else if (button?.closest(".day")) { open(); pick(); }
  else if (target.id === "find-date") pick();
});
bar?.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
  if (event.key !== "Enter" || event.target !== field || event.isComposing) return;
  event.preventDefault();
  step(event.shiftKey ? 1 : -1);
});
bar?.addEventListener("change", ({ target }) => {
  if (target.id !== "find-date" || !target.value) return;
  const since = new Date(`${target.value}T00:00`).toISOString();
  htmx.ajax("GET", `${target.dataset.address}?since=${encodeURIComponent(since)}`, "#finds");
});

document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  // The panel gives the focus to its message at first.
  if (target.id === "reader" && panel.contains(bar)) requestAnimationFrame(() => (focused ?? field).focus());
  const found = target.id === "finds" && find("[data-finds]", target);
  if (!found) return;
  const ids = found.dataset.finds.split(" ").filter(Boolean);
  if ("date" in found.dataset) { if (ids.length) go(ids[0]); return; }
  hits = ids;
  at = -1;
  isCut = "cut" in found.dataset;
  unmark();
  tell();
});
panel.addEventListener("close", () => {
  if (bar && panel.contains(bar)) move(() => place.insertBefore(bar, after));
});
