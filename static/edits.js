// Messages and summaries that are written anew: their drafts are kept, and the keyboard is enough.
// Listens to input, click, keydown, htmx:afterSettle, load and afterRequest.
import { find, readStored, store } from "./page.js";
import { stopFollowing, writeOn } from "./place.js";

const EDITS = "form.edit[id]";
const draftKey = (form) => `draft:${form?.id}`;

document.addEventListener("input", (event) => {
  const form = event.target.closest(EDITS);
  if (form) store(draftKey(form), event.target.value);
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-cancel]");
  if (button) store(draftKey(button.form), null);
});
// The form opens in sight, also where the end of the thread is followed.
document.addEventListener("htmx:afterSettle", ({ detail: { target, requestConfig } }) => {
  const form = requestConfig?.verb === "get" && requestConfig.elt.id.startsWith("to-edit-") && find(EDITS, target);
  if (!form) return;
  stopFollowing();
  form.scrollIntoView({ block: "nearest" });
  const words = find("textarea", form);
  words.focus({ preventScroll: true });
  words.setSelectionRange(words.value.length, words.value.length);
});
document.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const form = elt.matches(EDITS) ? elt : find(EDITS, elt), draft = form && readStored(draftKey(form));
  if (draft) find("textarea", form).value = draft;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { requestConfig: { elt }, successful } = event.detail;  // which its own answer may have taken away
  if (!successful || !elt.matches(EDITS)) return;
  store(draftKey(elt), null);
  find("textarea", elt).defaultValue = find("textarea", elt).value;
  if (!elt.id.startsWith("edit-summary-")) writeOn();
});
document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form.edit");
  // In a panel Escape closes that, and the draft is there when it is opened again.
  if (form?.id && event.key === "Escape" && !form.closest("dialog")) find("[data-cancel]", form).click();
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
