// The keys of every page; their sheet is templates/conversations/composer/_help.html. Listens to keydown, change and htmx:load.
import { showList } from "./controls.js";
import { composer, find, readStored, store, thread } from "./page.js";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const SINGLE_OFF = "single-keys-off";

// --- The acts of the keys: each returns whether it was done, else the key is the browser's ------------------------------------

const clicks = (control) => { control?.click(); return Boolean(control); };
const last = (selector) => [...(thread?.querySelectorAll(selector) ?? [])].filter((found) => !found.closest(".version")).at(-1);
const copies = (selector) => Boolean(navigator.clipboard) && clicks(last(selector));

const searches = () => {
  const field = find("#search");
  if (!field) return false;
  if (find("#drawer")?.offsetParent && !find(".app.listing")) showList(true);
  field.focus();
  field.select();
  return true;
};
const stops = () => clicks([find("#stop")].find((button) => button?.offsetParent && !button.disabled));
const moves = (step) => {
  const entries = [...document.querySelectorAll("#conversations .entry > a")];
  const at = entries.findIndex((entry) => entry.ariaCurrent);
  return clicks(entries[at < 0 && step < 0 ? entries.length - 1 : at + step]);
};

// From message to message, and behind the last one to the composer.
const reads = (step) => {
  const messages = [...(thread?.querySelectorAll(".message, .version") ?? [])].filter((found) => !found.parentElement.closest(".version"));
  if (!messages.length) return false;
  const at = messages.findIndex((found) => found.contains(document.activeElement));
  const next = at < 0 ? messages.length - 1 : Math.max(0, at + step);
  if (!messages[next]) { composer.elements.content.focus(); return true; }
  const place = find(":scope > summary", messages[next]) ?? messages[next];
  if (place.tabIndex < 0) place.tabIndex = -1;
  messages[next].scrollIntoView({ block: "nearest" });
  place.focus({ preventScroll: true });
  return true;
};

// --- Which keys: none while an input method composes, none that a field of text needs --------------------------------

const KEYS = [
  { keys: ["k"], command: true, anywhere: true, act: () => clicks(find("form.begin button")) },
  { keys: ["c"], command: true, shift: true, anywhere: true, act: () => copies(".message.assistant:not([aria-busy]) > .acts > .copy") },
  { keys: ["f"], command: true, shift: true, anywhere: true, act: () => clicks(find("#find-open")) },
  { keys: [";", ":"], command: true, shift: true, anywhere: true, act: () => copies("[data-code=copy]") },
  { keys: ["arrowup"], alt: true, inEmpty: true, act: () => moves(-1) },
  { keys: ["arrowdown"], alt: true, inEmpty: true, act: () => moves(1) },
  { keys: ["pageup"], alt: true, inComposer: true, act: () => reads(-1) },
  { keys: ["pagedown"], alt: true, inComposer: true, act: () => reads(1) },
  { keys: ["escape"], inComposer: true, notElsewhere: true, act: stops },
  { keys: ["arrowup"], inEmpty: true, notElsewhere: true, act: () => clicks(last("[id^='to-edit-']")) },
  { keys: ["/"], single: true, act: searches },
  { keys: ["?"], single: true, act: () => clicks(find("#help")) },
];
const command = (event) => (IS_MAC ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey);
const isPressed = (key, event) => key.keys.includes(event.key.toLowerCase())
  && Boolean(key.alt) === event.altKey
  && (key.command ? command(event) : !event.ctrlKey && !event.metaKey)
  && (key.single || Boolean(key.shift) === event.shiftKey);
const fits = (key, { target }) => {
  const inComposer = target === composer?.elements.content;
  if (inComposer) return key.anywhere || key.inComposer || Boolean(key.inEmpty && !target.value);
  if (target.closest("input, textarea, select, [contenteditable]")) return Boolean(key.anywhere);
  return !key.notElsewhere && !(key.single && readStored(SINGLE_OFF));
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.getModifierState("AltGraph")) return;
  // What covers the page has keys of its own.
  if (find("dialog[open], :popover-open")) return;
  const key = KEYS.find((each) => isPressed(each, event) && fits(each, event));
  if (key?.act()) event.preventDefault();
});

// --- How they are shown ----------------------------------------------------------------------------------------------

const label = (root) => {
  if (IS_MAC) for (const key of root.querySelectorAll("kbd[data-mac]")) key.textContent = key.dataset.mac;
  const singles = find("#single-keys", root);
  if (singles) singles.checked = !readStored(SINGLE_OFF);
};
label(document);
document.addEventListener("htmx:load", (event) => label(event.detail.elt));
document.addEventListener("change", ({ target }) => { if (target.id === "single-keys") store(SINGLE_OFF, !target.checked); });
