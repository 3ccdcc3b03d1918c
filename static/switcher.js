// The list of models in a chat's head: found by words and abilities. Listens to input, click, keydown, toggle and htmx:afterSwap.
import { find } from "./page.js";

const list = find("#switcher");
const rows = () => [...list.querySelectorAll("[data-abilities]")];
const wanted = () => [...list.querySelectorAll("[data-can][aria-pressed=true]")].map((button) => button.dataset.can);
let asked = { words: "", abilities: [] };

const fits = (row, words, abilities) => words.every((word) => row.textContent.toLowerCase().includes(word))
  && abilities.every((ability) => row.dataset.abilities.split(" ").includes(ability));

const sift = () => {
  const words = asked.words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows()) row.hidden = !fits(row, words, asked.abilities);
  const none = rows().every((row) => row.hidden);
  find("#no-such-model", list).hidden = !none || !rows().length;
};

list?.addEventListener("input", ({ target }) => {
  if (target.id !== "find-model") return;
  asked.words = target.value;
  sift();
});

list?.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-can]");
  if (!button) return;
  button.ariaPressed = String(button.ariaPressed !== "true");
  asked.abilities = wanted();
  sift();
});

// Arrows go from model to model, Enter in the field takes the first.
list?.addEventListener("keydown", (event) => {
  const shown = rows().filter((row) => !row.hidden).map((row) => find(".pick", row));
  const at = shown.indexOf(document.activeElement);
  if (event.key === "Enter" && event.target.id === "find-model") {
    event.preventDefault();
    shown[0]?.click();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (shown[next] ?? (next < 0 ? find("#find-model", list) : shown.at(-1)))?.focus();
  }
});

// A choice of a model closes the list; others draw it anew, and what was looked for stays.
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target !== list) return;
  if (find("[data-chosen]", list)) { list.hidePopover(); return; }
  const field = find("#find-model", list);
  field.value = asked.words;
  for (const button of list.querySelectorAll("[data-can]")) button.ariaPressed = String(asked.abilities.includes(button.dataset.can));
  sift();
  if (list.matches(":popover-open") && !list.contains(document.activeElement)) field.focus();
});
list?.addEventListener("toggle", ({ newState }) => {
  find("#switch").ariaExpanded = String(newState === "open");
  if (newState === "closed") asked = { words: "", abilities: [] };
});
