// The box of the home page: a draft, the starters, and Enter. Listens to the box, the form and the starters.
import { find, readStored, store } from "./page.js";

const form = find("#begin");

if (form) {
  const box = form.elements.content, KEY = `draft:new${form.elements.project?.value ?? ""}`;
  const keep = () => {
    store(KEY, box.value);
    if (CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  };
  box.value ||= readStored(KEY) ?? "";
  keep();
  box.addEventListener("input", keep);
  box.addEventListener("keydown", (event) => {
    const sends = "enterSends" in form.dataset ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (event.key !== "Enter" || !sends || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  for (const starter of document.querySelectorAll("[data-starter]")) {
    starter.addEventListener("click", () => {
      box.value = starter.dataset.starter + box.value;
      keep();
      box.focus();
      box.setSelectionRange(box.value.length, box.value.length);
    });
  }
  // A message that is on its way is no draft, unless it comes back refused.
  form.addEventListener("htmx:beforeRequest", ({ target }) => { if (target === form) store(KEY, ""); });
  form.addEventListener("htmx:afterRequest", ({ target, detail }) => {
    if (target !== form) return;
    if (detail.xhr.status && detail.xhr.status < 400) return;
    keep();
    box.focus();
  });
}
