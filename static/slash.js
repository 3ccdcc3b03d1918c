// The menu behind a slash in an empty message: commands and saved prompts. Listens to the box, keydown, click and htmx:afterSwap.
import { composer, find } from "./page.js";

const box = composer.elements.content, menu = find("#slash");
const BLANK = /\{\{[^{}\n]{1,60}\}\}/g;
let at = 0, dismissed = "";

const asked = () => /^\/([\p{L}\p{N} _-]{0,30})$/u.exec(box.value)?.[1].toLowerCase();
const shown = () => [...menu.querySelectorAll("[role=option]:not([hidden])")];
const isOpen = () => !menu.hidden;

const mark = () => {
  const options = shown();
  at = Math.max(0, Math.min(at, options.length - 1));
  for (const [place, option] of options.entries()) option.ariaSelected = String(place === at);
  options[at]?.scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", options[at]?.id ?? "");
};
const close = () => {
  menu.hidden = true;
  box.removeAttribute("aria-activedescendant");
};
export const sift = () => {
  const words = asked();
  if (words === undefined || box.value === dismissed) { close(); return; }
  dismissed = "";
  for (const option of menu.querySelectorAll("[role=option]")) option.hidden = !option.dataset.name.includes(words.trim());
  menu.hidden = !shown().length;
  if (isOpen()) mark(); else close();
};

// A blank is selected, so that typing fills it.
const nextBlank = (from) => {
  BLANK.lastIndex = from;
  const blank = BLANK.exec(box.value) ?? (from ? (BLANK.lastIndex = 0, BLANK.exec(box.value)) : null);
  if (blank) box.setSelectionRange(blank.index, blank.index + blank[0].length);
  return Boolean(blank);
};
const choose = (option) => {
  const { text, press } = option.dataset;
  box.value = text ?? "";
  box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  close();
  if (press) { document.getElementById(press).click(); return; }
  box.focus();
  if (!nextBlank(0)) box.setSelectionRange(box.value.length, box.value.length);
};

// Before the composer: Enter chooses here and sends nothing.
document.addEventListener("keydown", (event) => {
  if (event.target !== box || event.isComposing) return;
  if (!isOpen()) {
    if (event.key === "Tab" && !event.shiftKey && box.value.match(BLANK) && nextBlank(box.selectionEnd)) event.preventDefault();
    return;
  }
  const options = shown();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { at = (at + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length; mark(); }
  else if (event.key === "Enter" || event.key === "Tab") choose(options[at]);
  else if (event.key === "Escape") { dismissed = box.value; close(); }
  else return;
  event.preventDefault();
  event.stopPropagation();
}, true);
menu.addEventListener("mousedown", (event) => { if (!event.target.closest("a")) event.preventDefault(); });
menu.addEventListener("click", ({ target }) => {
  const option = target.closest("[role=option]");
  if (option) choose(option);
});
box.addEventListener("input", sift);
box.addEventListener("blur", close);
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => { if (target === menu) sift(); });
