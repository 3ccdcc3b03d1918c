// What was put into a message by paste or drop, not typed: sent with it, as only a person's own words become rules.
// Listens to paste, drop, and the requests of forms with a message.
import { readStored, store } from "./page.js";

const MAX_TEXTS = 100;
// The key of a form with a message, null for anything else.
const keyOf = (form) => {
  if (!(form instanceof HTMLFormElement) || !form.elements.content) return null;
  return `pasted:${form.dataset.conversation ?? form.getAttribute("id")}`;
};

export const notePasted = (form, text) => {
  const key = keyOf(form);
  if (key && text.trim()) store(key, [...new Set([...readStored(key) ?? [], text])].slice(-MAX_TEXTS));
};

document.addEventListener("paste", ({ target, clipboardData }) => {
  notePasted(target.form, clipboardData?.getData("text/plain") ?? "");
});
document.addEventListener("drop", ({ target, dataTransfer }) => {
  notePasted(target.form, dataTransfer?.getData("text/plain") ?? "");
});
document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  const key = detail.verb === "post" ? keyOf(target) : null;
  if (!key) return;
  const said = target.elements.content.value;
  const isThere = (text) => text.split(/\r?\n/).some((line) => line.trim() && said.includes(line.trim()));
  const there = (readStored(key) ?? []).filter(isThere);
  if (there.length) detail.parameters.pasted = JSON.stringify(there);
});
document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  const key = detail.successful && detail.requestConfig.verb === "post" ? keyOf(target) : null;
  if (key) store(key, null);
});
