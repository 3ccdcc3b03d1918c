// The composer: drafts, and one id for one text; and messages that are written anew.
"use strict";

// --- The composer ---------------------------------------------------------------------------------------------

if (composer) {
  const box = composer.elements.content, id = composer.elements.client_id;
  const key = `draft:${composer.dataset.conversation}`;
  const pastes = pastesOf(box);
  let sent = "";

  // One id for one text: sending it again after a lost answer does not store it twice.
  const renew = () => { id.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(""); };
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  };
  // Behind the words are their markers, which go as far down as they do.
  const level = () => { one("#marks").scrollTop = box.scrollTop; };
  box.addEventListener("scroll", level, { passive: true });
  let chips = "";
  const show = () => {
    const all = pastes.all, numbers = all.map(({ number }) => number).join();
    if (chips !== numbers) one("#pastes").replaceChildren(...all.map(({ number, text }) => pasteChip(number, text)));
    chips = numbers;
    one("#marks").replaceChildren(...markersIn(box.value, all));
    level();
  };
  // Whether the draft could be kept.
  const changed = () => {
    show();
    grow();
    const draft = box.value && { text: box.value, id: id.value, pastes: pastes.all };
    keep(key, draft, "sessionStorage");
    return keep(key, draft);
  };

  // Why nothing was sent, until it can be.
  const note = one("#not-sent");
  const say = (words) => { if (note.textContent !== words) note.textContent = words; };
  const unsay = () => { if (note.textContent && one("#send").offsetParent && !composer.matches(".htmx-request")) say(""); };
  new MutationObserver(unsay).observe(thread, { childList: true, subtree: true, attributeFilter: ["data-status"] });

  renew();
  // Each of two tabs has its own, and a new one the last.
  const draft = kept(key, "sessionStorage") ?? kept(key);
  if (draft) { box.value = draft.text; id.value = draft.id; pastes.start(draft); show(); grow(); }

  box.addEventListener("input", (event) => { pastes.follow(event); renew(); changed(); });
  box.addEventListener("keydown", (event) => {
    const sends = "enterSends" in composer.dataset ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (event.key !== "Enter" || !sends || event.isComposing) return;
    event.preventDefault();
    if (composer.matches(".htmx-request")) say("Your last message is on its way; your text stays here.");
    else if (one("#send").offsetParent) composer.requestSubmit(one("#send"));
    else if (box.value.trim()) say("A reply is being written: Stop it or wait; your text stays here.");
  });
  box.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain"), { files } = event.clipboardData;
    if (!text && files.length) { event.preventDefault(); attach(files); }
    if (characters(text) <= LONG) return;
    event.preventDefault();
    const number = pastes.add(text);
    if (changed()) return;
    pastes.replace(number, text);
    complain("This browser keeps no more for this site: the long text went into the box as it is. Send it before you close the page.");
  });
  one("#pastes").addEventListener("click", ({ target }) => {
    const act = target.closest("button")?.dataset.paste, number = Number(target.closest("li")?.dataset.number);
    if (act === "view") readPaste(number, pastes.text(number));
    else if (act) pastes.replace(number, act === "put" ? pastes.text(number) : "");
  });
  composer.addEventListener("htmx:configRequest", ({ target, detail }) => {
    if (target === composer && pastes.all.length) detail.parameters.parts = JSON.stringify(pastes.parts);
  });
  composer.addEventListener("htmx:beforeRequest", (event) => { if (event.target === composer) sent = box.value; });
  composer.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== composer) return;
    setTimeout(unsay);
    if (!event.detail.successful) return;
    if (box.value.startsWith(sent)) pastes.drop(sent.length);
    renew();
    changed();
    stuck = true;
    follow();
    if ([document.body, one("#send")].includes(document.activeElement)) goOn();
  });
  // Send and Stop take turns, and hide: who pressed one writes on. A phone's keyboard comes only when it is asked for.
  const goOn = () => (matchMedia("(hover: hover)").matches ? box : scroller).focus({ preventScroll: true });
  one("#stop").addEventListener("click", goOn);

  // Files: they go up by themselves, one after the other, and each one's chip comes back. Those that wait are sent with
  // the next message.
  const tray = one("#attachments"), chooser = one("#files"), main = one(".main");
  let upload = Promise.resolve();
  const attach = (files) => {
    for (const file of files) {
      const chip = copyOf("upload-chip");
      one("b", chip).textContent = file.name;
      tray.append(chip);
      const begin = () => chip.isConnected && htmx.ajax("POST", tray.dataset.upload, { source: chip, target: chip, swap: "outerHTML", values: { file } });
      upload = upload.then(begin).catch(() => {});
    }
  };
  // Another message, once other files go with it; and one with files may do without words. A file that was there
  // already has come back as what it was.
  const waiting = () => Array.from(tray.querySelectorAll("input"), ({ value }) => value).join();
  let files = waiting();
  new MutationObserver(() => {
    for (const chip of [...tray.children]) if (chip.id && one(`#${chip.id}`, tray) !== chip) chip.remove();
    if (files === waiting()) return;
    files = waiting();
    box.required = !files;
    renew();
    changed();
  }).observe(tray, { childList: true });
  box.required = !files;

  tray.addEventListener("htmx:xhr:progress", ({ target, detail }) => {
    const bar = one("progress", target);
    if (bar && detail.lengthComputable) bar.value = Math.max(bar.value, detail.loaded / detail.total);
  });
  tray.addEventListener("htmx:afterRequest", ({ target }) => { if (target.isConnected && target.matches(".uploading")) target.remove(); });
  composer.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target !== composer || !one(".uploading", tray)) return;
    event.preventDefault();
    complain("A file is still on its way. Send the message once it is there.");
  });
  one("#attach").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => { attach(chooser.files); chooser.value = ""; box.focus(); });
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  const dropping = (on) => main.classList.toggle("dropping", on);
  main.addEventListener("dragover", (event) => { if (carriesFiles(event)) { event.preventDefault(); dropping(true); } });
  main.addEventListener("dragleave", (event) => { if (!main.contains(event.relatedTarget)) dropping(false); });
  main.addEventListener("drop", (event) => {
    dropping(false);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    attach(event.dataTransfer.files);
  });

  // While a compression runs that has to be waited for, nothing can be sent; the draft stays as it is.
  const status = one("#compression-status");
  let focused = null;
  const settle = () => {
    const busy = Boolean(one("[data-busy]", status));
    if (busy === box.disabled) return;
    if (busy) focused = composer.contains(document.activeElement) ? document.activeElement : null;
    for (const control of [box, ...composer.querySelectorAll(".bar > button:not(#stop), .tray button")]) control.disabled = busy;
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
// It opens in sight, also where the end of the thread is followed.
document.addEventListener("htmx:afterSettle", ({ detail: { target, requestConfig } }) => {
  const form = requestConfig?.verb === "get" && requestConfig.elt.id.startsWith("to-edit-") && one(EDITS, target);
  if (!form) return;
  stuck = false;
  form.scrollIntoView({ block: "nearest" });
  const words = one("textarea", form);
  words.focus({ preventScroll: true });
  words.setSelectionRange(words.value.length, words.value.length);
});
document.addEventListener("htmx:load", (event) => {
  const { elt } = event.detail, form = elt.matches(EDITS) ? elt : one(EDITS, elt), draft = form && kept(`draft:${form.id}`);
  if (draft) one("textarea", form).value = draft;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { requestConfig: { elt }, successful } = event.detail;  // which its own answer may have taken away
  if (!successful || !elt.matches(EDITS)) return;
  keep(`draft:${elt.id}`, null);
  one("textarea", elt).defaultValue = one("textarea", elt).value;
});
document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form.edit");
  // In a panel it closes that, and what was written is there when it is opened again.
  if (form?.id && event.key === "Escape" && !form.closest("dialog")) one("[data-cancel]", form).click();
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
