// The composer: drafts, and one id for one text; and messages that are written anew.
"use strict";

// --- The composer ---------------------------------------------------------------------------------------------

if (composer) {
  const box = composer.elements.content, id = composer.elements.client_id;
  const key = `draft:${composer.dataset.conversation}`;
  let sent = "";

  // One id for one text: sending it again after a lost answer does not store it twice.
  const renew = () => { id.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(""); };
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  };
  const changed = () => {
    keep(key, box.value && { text: box.value, id: id.value });
    grow();
  };

  renew();
  const draft = kept(key);
  if (draft) { box.value = draft.text; id.value = draft.id; grow(); }

  box.addEventListener("input", () => { renew(); changed(); });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (one("#send").offsetParent) composer.requestSubmit(one("#send"));
  });
  composer.addEventListener("htmx:beforeRequest", (event) => { if (event.target === composer) sent = box.value; });
  composer.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== composer || !event.detail.successful) return;
    if (box.value.startsWith(sent)) box.value = box.value.slice(sent.length);
    renew();
    changed();
    stuck = true;
    follow();
  });

  // While a compression runs that has to be waited for, nothing can be sent; the draft stays as it is.
  const status = one("#compression-status");
  let focused = null;
  const settle = () => {
    const busy = Boolean(one("[data-busy]", status));
    if (busy === box.disabled) return;
    if (busy) focused = composer.contains(document.activeElement) ? document.activeElement : null;
    for (const control of [box, ...composer.querySelectorAll(".bar > button")]) control.disabled = busy;
    if (!busy) focused?.focus();
  };
  new MutationObserver(settle).observe(status, { childList: true, subtree: true });
  settle();
}

// --- A message that is written anew: its draft is kept, and the keyboard is enough ----------------------------------

const EDITS = "form.edit[id]";
document.addEventListener("input", (event) => {
  const form = event.target.closest(EDITS);
  if (form) keep(`draft:${form.id}`, event.target.value);
});
document.addEventListener("htmx:load", (event) => {
  const { elt } = event.detail, draft = elt.matches(EDITS) && kept(`draft:${elt.id}`);
  if (draft) elt.elements.content.value = draft;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, successful } = event.detail;
  if (!successful || !elt.matches(EDITS)) return;
  keep(`draft:${elt.id}`, null);
  elt.elements.content.defaultValue = elt.elements.content.value;
});
document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form.edit");
  if (form?.id && event.key === "Escape") one("[data-cancel]", form).click();
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
