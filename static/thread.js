// The thread of a conversation, as answers and the socket change it: each message is one bubble, whichever way it comes,
// and the parts that a person has opened or is writing outlast each new version of it. Listens to htmx:beforeSwap,
// oobBeforeSwap, oobErrorNoTarget, beforeRequest and afterRequest, and to the socket's htmx:wsOpen, wsClose, wsBeforeMessage and
// wsAfterMessage.
import { complain } from "./answers.js";
import { composer, find, gettext, store, thread } from "./page.js";
import { rememberPlace, restoreFocus } from "./place.js";

const converge = () => htmx.trigger(document.body, "converge");

// --- Calls of tools, runs of executors, thoughts and recalled passages: open parts stay open, and known steps are not sent again -----------------------

// Thoughts close with their reply, unless a person has opened or closed them.
const closes = (part, was) => part.matches(".thought:not(.thinking)") && !("byHand" in was.dataset);
// Carries the open parts of the page over to the parts that replace them.
const keepCalls = (fragment) => {
  for (const part of fragment.querySelectorAll(".call, .step, .thought, .recall")) {
    const was = find(`[id="${part.id}"] > details`), now = find(":scope > details", part);
    // A run that begins opens by itself.
    if (was && now && was !== now && (was.matches(".run") || !now.matches(".run")) && !closes(part, was)) now.open = was.open;
    if (was && now && "byHand" in was.dataset) now.dataset.byHand = "";
    // The steps of a run that has ended meanwhile stay until they are read again.
    const working = now?.open && find(":scope > .working[hx-get]", now), shown = was && find(":scope > .working > .course", was);
    if (working && shown) working.replaceChildren(shown);
  }
};
// The head of a run alone.
const updateRun = (was, now) => {
  was.dataset.status = now.dataset.status;
  find("summary", was).replaceChildren(...find("summary", now).childNodes);
  find(":scope > .failure", was)?.remove();
  const failure = find(":scope > .failure", now);
  if (failure) find("summary", was).after(failure);
};
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.target.matches(".working")) return;
  const steps = document.createElement("template");
  steps.innerHTML = detail.serverResponse;
  keepCalls(steps.content);
  detail.serverResponse = steps.innerHTML;
});
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target.matches(".course")) {
    keepCalls(fragment);
    for (const step of Array.from(fragment.children)) {
      const known = document.getElementById(step.id);
      if (known) { known.replaceWith(step); htmx.process(step); }
    }
    restoreFocus();
  } else if (target.matches(".call")) {
    const was = find(":scope > .run", target), now = find(".run", fragment);
    if (was && now) { updateRun(was, now); event.detail.shouldSwap = false; } else keepCalls(fragment);
  }
});

// --- Messages -------------------------------------------------------------------------------------------------------

// A question and its reply come twice, as the answer to the form and over the socket: the first to arrive stays. A
// message that the page has asked for anew takes the place of the known one, where it has another state by now.
const dropKnown = (fragment) => {
  for (const bubble of fragment.querySelectorAll("[data-message-id]")) {
    const known = document.getElementById(bubble.id);
    if (!known) continue;
    if (isFlipped(known, bubble)) { bubble.remove(); continue; }
    if (isNews(bubble, known)) { keepCalls(bubble); known.replaceWith(bubble); htmx.process(bubble); } else bubble.remove();
  }
};
const isNews = ({ dataset }, known) => "fresh" in dataset && (
  dataset.status === "streaming" || /running|waiting/.test(dataset.work)
  || ["status", "state", "work"].some((name) => dataset[name] !== known.dataset[name])
);
// An earlier version that a person looks at stays in the place of its message, as long as no other version is written or used.
const isFlipped = (shown, message) => shown.matches(".version")
  && shown.dataset.of === find(".versions", message)?.dataset.of;
const keepFlipped = (fragment) => {
  for (const shown of thread.querySelectorAll(".version[id]")) {
    const message = find(`#${shown.id}.message`, fragment);
    if (message && isFlipped(shown, message)) message.replaceWith(shown);
  }
};
// A message that is being written anew stays as it is when the thread around it is read again, and a question about one
// is still asked.
const keepEdited = (fragment) => {
  for (const asked of thread.querySelectorAll(".acts:has([data-cancel])")) find(`#${asked.id}`, fragment)?.replaceWith(asked);
  for (const form of thread.querySelectorAll("form.edit")) {
    const message = form.closest(".message"), place = find(`#${message.id}`, fragment);
    if (place) place.replaceWith(message);
    else rescueWords(form);
  }
};
// Where the edited message is not there any more, its words go on in the composer.
const rescueWords = (form) => {
  const words = form.elements.content, box = composer.elements.content;
  if (form.matches(".htmx-request") || words.value === words.defaultValue) return;
  box.value = [box.value, words.value].filter(Boolean).join("\n\n");
  box.dispatchEvent(new Event("input"));
  store(`draft:${form.id}`, null);
  complain(gettext("The message that you were writing anew was replaced meanwhile. Your words are in the box below."));
};
// Parts of the past that were opened stay open: the rest of a compaction's rows as far as they are still compacted, and
// single rows.
const keepOpened = (fragment) => {
  for (const rest of fragment.querySelectorAll(".rest")) {
    const rows = [];
    let row = document.getElementById(rest.previousElementSibling.id);
    while ((row = row?.nextElementSibling)?.matches(".row")) rows.push(row);
    if (rows.length >= rest.dataset.more) rest.replaceWith(...rows.slice(0, rest.dataset.more));
  }
  for (const row of thread.querySelectorAll(".row[open]")) find(`#${row.id}.row`, fragment)?.replaceWith(row);
};

// The last message that the page had when it asked for the thread; null while it is not asking. An answer is overtaken if
// a newer state came while the thread was being read: the thread is read once more.
let lastAsked = null, isOvertaken = false;
const lastOf = (place) => Array.from(place.querySelectorAll(":scope > .message")).at(-1);
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (target === thread) { lastAsked = lastOf(thread)?.id ?? ""; isOvertaken = false; }
});
document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (target !== thread) return;
  lastAsked = null;
  if (isOvertaken && detail.xhr.status === 200) setTimeout(converge, 300);
});
document.addEventListener("htmx:wsBeforeMessage", ({ detail }) => { isOvertaken ||= detail.message.includes('<div id="notice"'); });
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target.matches(".version[id]") && isFlipped(target, fragment)) event.detail.shouldSwap = false;
  if (target.matches(".message")) { rememberPlace(); keepCalls(fragment); }
  if (target !== thread) return;
  if (!find("#version", fragment)) { dropKnown(fragment); return; }
  const last = lastOf(thread)?.id;
  if (last && lastAsked !== null && last !== lastAsked && !find(`[id="${last}"]`, fragment)) isOvertaken = true;
  rememberPlace();
  keepFlipped(fragment);
  keepEdited(fragment);
  keepOpened(fragment);
  keepCalls(fragment);
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.matches("#thread > .more")) rememberPlace();
  if (detail.target !== thread || detail.requestConfig.elt !== composer || detail.xhr.status >= 400) return;
  const answer = document.createElement("template");
  answer.innerHTML = detail.serverResponse;
  dropKnown(answer.content);
  detail.serverResponse = answer.innerHTML;
});

// --- The socket -----------------------------------------------------------------------------------------------------

// An update that is too large for the socket comes as a word that there are changes (`ASK_FOR_CHANGES` of `consumers.py`).
// A piece that belongs to one state of a reply is of no use where another one was fetched meanwhile: the page asks for
// the latest.
let convergedAt = 0;
document.addEventListener("htmx:wsBeforeMessage", (event) => {
  if (event.detail.message === "<!-- ask for changes -->") { event.preventDefault(); converge(); return; }
  const place = /^<div hx-swap-oob="\w+:#(tail-[\w-]+)"/.exec(event.detail.message)?.[1];
  if (!place || document.getElementById(place)) return;
  event.preventDefault();
  if (Date.now() - convergedAt > 1000) { convergedAt = Date.now(); converge(); }
});
document.addEventListener("htmx:oobErrorNoTarget", (event) => {
  if (event.detail.content.matches(".message, .call")) converge();
});
// A reply that arrives over the socket needs no asking for; one that has fallen silent does.
let messageAt = 0;
document.addEventListener("htmx:wsAfterMessage", () => {
  messageAt = Date.now();
  const title = `${find(".head h1").textContent} · chatsite`, news = document.title.match(/^\(\d+\) /)?.[0] ?? "";
  if (document.title !== news + title) document.title = news + title;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches(".message[aria-busy]") && Date.now() - messageAt < 5000) event.preventDefault();
});
const showOffline = (on) => find(".app").classList.toggle("offline", on);
document.addEventListener("htmx:wsOpen", () => showOffline(false));
document.addEventListener("htmx:wsClose", ({ detail }) => {
  showOffline(true);
  // Signed out, here or elsewhere: the site says where this page goes now.
  if (detail.event?.code === 4401) location.reload();
});
