// Several chats at once: boxes beside them, and what can be done with those that are ticked. Listens to change, click and keydown.
import { find, gettext } from "./page.js";

const side = find("#side"), bar = find("#several"), list = find("#conversations");
const ticked = () => list.querySelectorAll(".tick-one:checked").length;
const tell = () => {
  const count = ticked();
  find("b", bar).textContent = count ? gettext("%(number)s selected", { number: count }) : gettext("Select chats");
  for (const button of bar.querySelectorAll("button:not(#select-none)")) button.disabled = !count;
};
const end = () => {
  for (const box of list.querySelectorAll(".tick-one")) box.checked = false;
  side.classList.remove("selecting");
  bar.hidden = true;
  find("#select")?.focus();
};
export const begin = () => {
  side.classList.add("selecting");
  bar.hidden = false;
  tell();
  find(".tick-one", list)?.focus();
};

list.addEventListener("change", ({ target }) => { if (target.matches(".tick-one")) tell(); });
// While chats are selected, a press on one ticks it and opens nothing.
list.addEventListener("click", (event) => {
  const link = side.matches(".selecting") && event.target.closest(".entry > a");
  if (!link) return;
  event.preventDefault();
  find(".tick-one", link.parentElement).click();
}, true);
side.addEventListener("keydown", (event) => { if (event.key === "Escape" && side.matches(".selecting")) { event.stopPropagation(); end(); } });
// The browser downloads what a plain form asks for; the form's other acts are requests of the page.
find("#export-several").addEventListener("click", () => {
  const ids = new URLSearchParams(new FormData(bar)).toString();
  location.assign(`${bar.getAttribute("action")}?${ids}`);
});
find("#select-none").addEventListener("click", end);
