// The composer: a draft and one id for each text, long pastes, files, and when a message can be sent. Listens to the box,
// the form and its trays, to files that are dropped on the conversation, and to changes of the thread and its status.
import { complain } from "./answers.js";
import { amount, composer, copyTemplate, find, gettext, readStored, store, thread } from "./page.js";
import { MAX_PASTED_CHARS, countCharacters, markersIn, pasteChip, showPaste, trackPastes } from "./pastes.js";
import { followEnd, writeOn } from "./place.js";
import { notePasted } from "./provenance.js";

const MAX_MESSAGE_CHARS = 200_000; // as conversations/validation.py has it
const box = composer.elements.content, id = composer.elements.client_id, meanwhile = find("#meanwhile");

// The place of the text that is typed while the box is disabled.
let typed = { at: 0, length: 0 };

// --- The draft ----------------------------------------------------------------------------------------------------------

const key = `draft:${composer.dataset.conversation}`;
const pastes = trackPastes(box);

// One id for one text: sending it again after a lost answer does not store it twice.
const renewId = () => {
  id.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
};
const grow = () => {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
};
// Behind the words are their markers, which go as far down as they do.
const levelMarks = () => { find("#marks").scrollTop = box.scrollTop; };
let chips = "";
const showPastes = () => {
  const all = pastes.all, numbers = all.map(({ number }) => number).join();
  if (chips !== numbers) find("#pastes").replaceChildren(...all.map(({ number, text }) => pasteChip(number, text)));
  chips = numbers;
  find("#marks").replaceChildren(...markersIn(box.value, all));
  levelMarks();
};
// Returns whether the draft could be kept.
const keepDraft = () => {
  showPastes();
  grow();
  const draft = box.value && { text: box.value, id: id.value, pastes: pastes.all };
  store(key, draft, "sessionStorage");
  return store(key, draft);
};

renewId();
// Each of two tabs has its own draft, and a new tab the last one.
const draft = readStored(key, "sessionStorage") ?? readStored(key);
if (draft) { box.value = draft.text; id.value = draft.id || id.value; pastes.restore(draft); showPastes(); grow(); }
// The home page opened this chat with files, some of which were refused.
const refused = readStored(`refused:${composer.dataset.conversation}`, "sessionStorage");
if (refused) { complain(refused); store(`refused:${composer.dataset.conversation}`, "", "sessionStorage"); }
box.addEventListener("input", (event) => { pastes.follow(event); renewId(); keepDraft(); });
// The menu of commands and prompts is fetched with the first slash of an empty message.
let menu = null;
box.addEventListener("input", () => {
  if (menu || !box.value.startsWith("/")) return;
  const { address } = find("#slash").dataset;
  menu = import("./slash.js").then(() => htmx.ajax("GET", address, "#slash"));
});
box.addEventListener("scroll", levelMarks, { passive: true });

// --- Sending ------------------------------------------------------------------------------------------------------------

// Why nothing was sent, until it can be.
const note = find("#not-sent");
const say = (words) => { if (note.textContent !== words) note.textContent = words; };
const unsay = () => {
  if (note.textContent && !box.disabled && find("#send").offsetParent && !composer.matches(".htmx-request")) say("");
};
new MutationObserver(unsay).observe(thread, { childList: true, subtree: true, attributeFilter: ["data-status"] });

const sendOnEnter = (event) => {
  const sends = "enterSends" in composer.dataset ? !event.shiftKey : event.ctrlKey || event.metaKey;
  if (event.key !== "Enter" || !sends || event.isComposing) return;
  event.preventDefault();
  if (box.disabled) say(gettext("The chat is being compacted; your text stays here."));
  else if (composer.matches(".htmx-request")) say(gettext("Your last message is on its way; your text stays here."));
  else if (find("#send").offsetParent || box.value.trim()) composer.requestSubmit(find("#send"));
};
for (const field of [box, meanwhile]) field.addEventListener("keydown", sendOnEnter);
composer.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (target === composer && pastes.all.length) detail.parameters.parts = JSON.stringify(pastes.parts);
});
let sent = "";
composer.addEventListener("htmx:beforeRequest", (event) => { if (event.target === composer) sent = box.value; });
composer.addEventListener("htmx:afterRequest", (event) => {
  if (event.target !== composer) return;
  setTimeout(unsay);
  // Send and Stop take turns, and hide: after a press of either, or a refusal, the focus is in the box.
  if ([document.body, find("#send")].includes(document.activeElement)) writeOn();
  if (!event.detail.successful) return;
  if (box.value.startsWith(sent)) { pastes.drop(sent.length); typed.at = Math.max(0, typed.at - sent.length); }
  renewId();
  keepDraft();
  followEnd();
});
find("#stop").addEventListener("click", writeOn);
// A message that was taken out of the queue to be edited goes before what is in the box.
document.body.addEventListener("htmx:afterSettle", () => {
  const taken = find("#queue [data-taken]");
  if (!taken) return;
  box.value = box.value ? `${taken.textContent}\n\n${box.value}` : taken.textContent;
  taken.remove();
  box.dispatchEvent(new Event("input"));
  writeOn();
});

// --- Long pastes --------------------------------------------------------------------------------------------------------

const paste = (event) => {
  const text = event.clipboardData.getData("text/plain"), { files } = event.clipboardData;
  if (!text && files.length) { event.preventDefault(); attach(files); }
  const characters = countCharacters(text);
  if (characters <= MAX_PASTED_CHARS) return;
  event.preventDefault();
  if (characters > MAX_MESSAGE_CHARS) {
    attach([new File([text], "Pasted text.txt", { type: "text/plain" })]);
    complain(gettext("The pasted text is too long for a message: it was attached as a file."));
    return;
  }
  const number = pastes.add(text);
  if (keepDraft()) return;
  pastes.replace(number, text);
  complain(gettext("This browser keeps no more for this site: the long text went into the box as it is. Send it before you close the page."));
};
for (const field of [box, meanwhile]) field.addEventListener("paste", paste);
find("#pastes").addEventListener("click", ({ target }) => {
  const act = target.closest("button")?.dataset.paste, number = Number(target.closest("li")?.dataset.number);
  if (act === "view") showPaste(number, pastes.text(number));
  if (act === "put") notePasted(composer, pastes.text(number));
  if (act && act !== "view") pastes.replace(number, act === "put" ? pastes.text(number) : "");
});

// --- Files: they go up one after the other, each one's chip comes back, and the next message takes them along -------------

const tray = find("#attachments"), chooser = find("#files"), main = find(".main");
let upload = Promise.resolve();
const attach = (files) => {
  for (const file of files) {
    const chip = copyTemplate("upload-chip");
    find("b", chip).textContent = file.name;
    tray.append(chip);
    const request = { source: chip, target: chip, swap: "outerHTML", values: { file } };
    const begin = () => chip.isConnected && htmx.ajax("POST", tray.dataset.upload, request);
    upload = upload.then(begin).catch(() => {});
  }
};
// With other files it is another message; and a message with files may do without words. A file that was there already
// has come back with the id of its first chip.
const waitingFiles = () => Array.from(tray.querySelectorAll("input"), ({ value }) => value).join();
// Files that fit one by one may be too long together: that is said before the message is sent.
const weighFiles = () => {
  const room = Number(find("#context-meter")?.dataset.room) || Infinity, names = [];
  let tokens = 0;
  for (const chip of tray.querySelectorAll("[data-tokens]")) {
    const own = Number(chip.dataset.tokens);
    if (own > room) names.push(find("b", chip).textContent); else tokens += own;
  }
  const over = tokens - room;
  find("#too-long").textContent = over > 0
    ? gettext("These files are too long for this model by about %(tokens)s tokens: remove one, or choose a model with a larger window.", { tokens: amount(over) })
    : names.length ? gettext("%(names)s: longer than this model's window. It is sent in parts, which are summarised once, and each question finds its passages.", { names: names.join(", ") }) : "";
};
let carried = waitingFiles();
new MutationObserver(() => {
  for (const chip of tray.querySelectorAll(":scope > [id]")) if (find(`#${chip.id}`, tray) !== chip) chip.remove();
  if (carried === waitingFiles()) return;
  carried = waitingFiles();
  box.required = !carried;
  weighFiles();
  renewId();
  keepDraft();
}).observe(tray, { childList: true });
box.required = !carried;
weighFiles();

tray.addEventListener("htmx:xhr:progress", ({ target, detail }) => {
  const bar = find("progress", target);
  if (bar && detail.lengthComputable) bar.value = Math.max(bar.value, detail.loaded / detail.total);
});
tray.addEventListener("htmx:afterRequest", ({ target }) => { if (target.isConnected && target.matches(".uploading")) target.remove(); });
composer.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target !== composer || !find(".uploading", tray)) return;
  event.preventDefault();
  complain(gettext("A file is still on its way. Send the message once it is there."));
});
find("#attach").addEventListener("click", () => chooser.click());
chooser.addEventListener("change", () => { attach(chooser.files); chooser.value = ""; box.focus(); });
const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
const showDropping = (on) => main.classList.toggle("dropping", on);
main.addEventListener("dragover", (event) => { if (carriesFiles(event)) { event.preventDefault(); showDropping(true); } });
main.addEventListener("dragleave", (event) => { if (!main.contains(event.relatedTarget)) showDropping(false); });
main.addEventListener("drop", (event) => {
  showDropping(false);
  if (!carriesFiles(event)) return;
  event.preventDefault();
  attach(event.dataTransfer.files);
});

// --- While a compaction runs that has to be waited for, the box is disabled. An unseen field has the keyboard, and its
// text appears in the box where the caret was ------------------------------------------------------------------------------

const status = find("#compression-status");
meanwhile.addEventListener("input", (event) => {
  box.setRangeText(meanwhile.value, typed.at, typed.at + typed.length, "end");
  typed.length = meanwhile.value.length;
  pastes.follow(event);
  renewId();
  keepDraft();
});
find(".words", composer).addEventListener("click", () => { if (box.disabled) meanwhile.focus({ preventScroll: true }); });

const followStatus = () => {
  const busy = Boolean(find("[data-busy]", status));
  if (busy === box.disabled && busy !== meanwhile.hidden) return;
  const active = document.activeElement, isWriting = [box, meanwhile].includes(active);
  const isAway = !isWriting && active !== document.body && !composer.contains(active);
  if (busy) typed = { at: box.selectionStart, length: box.selectionEnd - box.selectionStart };
  for (const control of [box, ...composer.querySelectorAll(".bar > button:not(#stop), .tray button")]) control.disabled = busy;
  meanwhile.hidden = !busy;
  meanwhile.value = "";
  if (!busy) { box.setSelectionRange(typed.at + typed.length, typed.at + typed.length); unsay(); }
  // Whoever was writing goes on, also where a keyboard on the screen is open.
  if (isWriting) (busy ? meanwhile : box).focus({ preventScroll: true });
  else if (!isAway) writeOn();
  // A slash that was typed meanwhile opens its menu now.
  if (!busy && typed.length && document.activeElement === box) box.dispatchEvent(new InputEvent("input", { bubbles: true }));
};
new MutationObserver(followStatus).observe(status, { childList: true, subtree: true });
followStatus();
