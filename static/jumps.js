// Jumps to a message, or to a source of a summary: on the page, in a compaction, or fetched with those around it.
// Listens to click, hashchange, DOMContentLoaded, htmx:beforeSwap and htmx:afterSwap.
import { showList } from "./controls.js";
import { find, panel, readStored, store, thread } from "./page.js";
import { stopFollowing } from "./place.js";

const FLASH_MS = 2000;
const MAX_MARKS = 1000;

const reveal = (place, { keepsFocus = false } = {}) => {
  if (place.matches("details")) place.open = true;
  const heir = find("summary", place) ?? place;
  if (heir === place && place.tabIndex < 0) place.tabIndex = -1;
  place.scrollIntoView({ block: "center" });
  if (!keepsFocus) heir.focus({ preventScroll: true });
  place.classList.add("flash");
  setTimeout(() => place.classList.remove("flash"), FLASH_MS);
};

// The style of marks is added with the first of them: with such a rule each new element of any page costs more.
const styleMarks = () => {
  const style = new CSSStyleSheet();
  style.replaceSync("::highlight(found) { background-color: color-mix(in srgb, var(--summary) 34%, transparent); }");
  document.adoptedStyleSheets.push(style);
};
// The words of the search in this chat, else those of the search in all chats.
const searched = () => find("#finder:not([hidden]) #find-words")?.value || find("#search")?.value || "";
// Marks the searched words in a message, whole words and those that begin with them; the marks change no element.
const markWords = (place) => {
  const words = searched().match(/"[^"]+"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
  const terms = words.filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!terms.length || !CSS.highlights) return;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.join("|")})[\\p{L}]*`, "giu"), found = new Highlight();
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && found.size < MAX_MARKS) {
    const { currentNode: text } = texts;
    for (const { index, 0: match } of text.data.matchAll(pattern)) {
      const range = new Range();
      range.setStart(text, index);
      range.setEnd(text, index + match.length);
      found.add(range);
      // A part that a reply folds away is opened where the word stands in it.
      for (let part = text.parentElement; part !== place; part = part.parentElement) if (part.matches(".prose details")) part.open = true;
    }
  }
  if (!CSS.highlights.has("found")) styleMarks();
  CSS.highlights.set("found", found);
};

// The message that is being fetched for the panel, and those whose answers come too late: another was jumped to meanwhile.
let fetching = "";
const outrun = new Set();
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const [, id] = detail.pathInfo.requestPath.match(/\/messages\/([\da-f-]{36})\/around$/) ?? [];
  if (id && id === fetching) fetching = "";
  if (id && outrun.delete(id)) detail.shouldSwap = false;
});

// Goes to a message: on the page, else in the panel with those around it. With `keepsFocus` it only scrolls and marks.
let keeps = false;
export const jumpTo = (id, { keepsFocus = false } = {}) => {
  keeps = keepsFocus;
  stopFollowing();
  if (find(".app.listing")) showList(false);  // a hit of a search in the drawer of a phone
  const message = document.getElementById(`message-${id}`);
  if (fetching && fetching !== id) outrun.add(fetching);
  outrun.delete(id);
  fetching = message ? "" : id;
  if (!message) { htmx.ajax("GET", `${location.pathname}messages/${id}/around`, "#reader"); return; }
  panel.close();
  reveal(message, { keepsFocus });
  markWords(message);
};
export const unmark = () => CSS.highlights?.delete("found");

// Goes to the message that the address names.
const jump = () => {
  const [, id] = location.hash.match(/^#message-([\da-f-]{36})$/) ?? [];
  if (thread && id) jumpTo(id);
};
addEventListener("hashchange", jump);
addEventListener("DOMContentLoaded", jump);

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href*='#']");
  if (!link || link.pathname !== location.pathname && !link.getAttribute("href").startsWith("#")) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const source = link.hash.startsWith("#source-") && document.getElementById(link.hash.slice(1));
  if (source) reveal(source);
  else if (link.hash === location.hash) jump();  // the address does not change, so nothing else would tell
  else return;
  event.preventDefault();
});

document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  const here = ["reader", "around"].includes(target.id) && find("#around [data-here], #reader [data-here]");
  if (!here) return;
  reveal(here, { keepsFocus: keeps && Boolean(find("#panel #finder")) });
  markWords(here);
});

// The searched words stand beside the hit that was opened, and on no other page: whoever signs in here meanwhile may be
// somebody else.
document.addEventListener("click", ({ target, ctrlKey, metaKey, shiftKey }) => {
  const link = target.closest("#found .hit a"), words = find("#search")?.value;
  if (!link || link.pathname === location.pathname || ctrlKey || metaKey || shiftKey) return;
  store("searched", { words, path: link.pathname }, "sessionStorage");
});
addEventListener("DOMContentLoaded", () => {
  const field = find("#search"), kept = readStored("searched", "sessionStorage");
  store("searched", null, "sessionStorage");
  if (!field || kept?.path !== location.pathname) return;
  field.value = kept.words;
  htmx.trigger(field, "input");
  const message = document.getElementById(location.hash.slice(1));
  if (message) markWords(message);
});
