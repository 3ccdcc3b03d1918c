// What htmx does not do by itself: one bubble a message, scrolling, focus, and saying what went wrong.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const thread = one("#thread"), scroller = one("#scroller"), composer = one("#composer"), panel = one("#panel");

// Storage may be full, or forbidden: the page works without. `place` is sessionStorage for what is one tab's own.
const kept = (key, place = "localStorage") => { try { return JSON.parse(window[place].getItem(key)); } catch { return null; } };
// Whether it could be kept.
const keep = (key, value, place = "localStorage") => {
  try { value ? window[place].setItem(key, JSON.stringify(value)) : window[place].removeItem(key); return true; } catch { return false; }
};

if (!navigator.clipboard) document.documentElement.classList.add("no-clipboard");

// --- The thread: one bubble a message, and the end in sight if it was ---------------------------------------------

let stuck = !location.hash;
const follow = () => {
  if (!stuck || !scroller) return;
  const box = one("code.streaming", thread)?.parentElement;
  if (box) box.scrollTop = box.scrollHeight;
  scroller.scrollTop = scroller.scrollHeight;
};

if (thread && scroller) {
  const latest = one("#latest");
  scroller.addEventListener("scroll", () => {
    const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    stuck = below < 60;
    if (latest) latest.hidden = below < scroller.clientHeight;
  }, { passive: true });
  latest?.addEventListener("click", () => { stuck = true; scroller.focus({ preventScroll: true }); follow(); });
  new MutationObserver(follow).observe(thread, { childList: true, subtree: true, characterData: true });
  new ResizeObserver(follow).observe(scroller);
  follow();
}

// A question and its reply come twice, as the answer to the form and over the socket: the first to arrive stays. What
// the page has asked for anew takes the place of what it shows, where that is another by now.
const dropKnown = (fragment) => {
  for (const bubble of fragment.querySelectorAll("[data-message-id]")) {
    const known = document.getElementById(bubble.id);
    if (!known) continue;
    if (isNews(bubble, known)) { keepCalls(bubble); known.replaceWith(bubble); htmx.process(bubble); } else bubble.remove();
  }
};
const isNews = ({ dataset }, known) => "fresh" in dataset && (
  dataset.status === "streaming" || /running|waiting/.test(dataset.work)
  || ["status", "state", "work"].some((name) => dataset[name] !== known.dataset[name])
);
// A message that is being written anew stays as it is when the thread around it is read again, and a question about one
// is still asked.
const keepEdited = (fragment) => {
  for (const asked of thread.querySelectorAll(".acts:has([data-cancel])")) one(`#${asked.id}`, fragment)?.replaceWith(asked);
  for (const form of thread.querySelectorAll("form.edit")) {
    const message = form.closest(".message"), place = one(`#${message.id}`, fragment);
    if (place) place.replaceWith(message);
    else rescue(form);
  }
};
// Where that message is not there any more, the words go on in the composer.
const rescue = (form) => {
  const words = form.elements.content, box = composer.elements.content;
  if (form.matches(".htmx-request") || words.value === words.defaultValue) return;
  box.value = [box.value, words.value].filter(Boolean).join("\n\n");
  box.dispatchEvent(new Event("input"));
  keep(`draft:${form.id}`, null);
  complain("The message that you were writing anew was replaced meanwhile. Your words are in the box below.");
};
// What was opened of the past stays open: the rest of a fold as far as it is still folded, and single rows.
const keepOpened = (fragment) => {
  for (const rest of fragment.querySelectorAll(".rest")) {
    const rows = [];
    let row = document.getElementById(rest.previousElementSibling.id);
    while ((row = row?.nextElementSibling)?.matches(".row")) rows.push(row);
    if (rows.length >= rest.dataset.more) rest.replaceWith(...rows.slice(0, rest.dataset.more));
  }
  for (const row of thread.querySelectorAll(".row[open]")) one(`#${row.id}.row`, fragment)?.replaceWith(row);
};
// The message at the top of what is in sight stays there; one that begins above it and changes its height, where it was
// being read.
let topmost = null;
const markPlace = () => {
  const top = scroller.getBoundingClientRect().top;
  const message = [...thread.querySelectorAll(".message")].find((one) => one.getBoundingClientRect().bottom > top);
  const { top: at, height } = message?.getBoundingClientRect() ?? {};
  topmost = message && !stuck ? { id: message.id, at, read: Math.max(0, top - at) / height, height } : null;
};
const findPlace = () => {
  const message = topmost && document.getElementById(topmost.id);
  if (message) {
    const { top, height } = message.getBoundingClientRect();
    scroller.scrollTop += top - topmost.at + topmost.read * (height - topmost.height);
  }
  topmost = null;
};
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  hold();
  if (target.matches(".message")) { markPlace(); keepCalls(fragment); }
  if (target !== thread) return;
  if (!one("#version", fragment)) return dropKnown(fragment);
  markPlace();
  keepEdited(fragment);
  keepOpened(fragment);
  keepCalls(fragment);
});
document.addEventListener("htmx:oobAfterSwap", () => { handOn(); findPlace(); });
document.addEventListener("htmx:afterSwap", findPlace);

// --- Focus: a control that a swap takes away hands it on: to itself come back, to a neighbour, or to its heading ------

let heirs = [], held = 0;
const hold = () => {
  const at = document.activeElement;
  // Where one swap has just taken the control away, the next one may bring its heir.
  if (at === document.body) { if (Date.now() - held > 1000) heirs = []; return; }
  held = Date.now();
  heirs = [
    at.id, at.closest("[data-focus]")?.dataset.focus, at.closest("section")?.getAttribute("aria-labelledby"),
    at.closest("dialog") ? "reader-title" : "scroller",
  ];
};
const handOn = () => {
  if (document.activeElement !== document.body) return;
  heirs.map((id) => id && document.getElementById(id)).find((heir) => heir && !heir.disabled)?.focus({ preventScroll: true });
};
document.addEventListener("htmx:afterSettle", handOn);

// --- Answers ------------------------------------------------------------------------------------------------------

document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event;
  hold();
  if (detail.target.id === "alert") detail.target = alertPlace();
  if (detail.target.matches("#thread > .more")) markPlace();
  if (detail.xhr.status >= 400) {
    // Only what the site itself has put into words is shown; anything else is a page of its own.
    detail.shouldSwap = Boolean(detail.xhr.getResponseHeader("HX-Retarget"));
  } else if (detail.target === thread && detail.requestConfig.elt === composer) {
    const parsed = document.createElement("template");
    parsed.innerHTML = detail.serverResponse;
    dropKnown(parsed.content);
    detail.serverResponse = parsed.innerHTML;
  }
});

// What is put in the place of one state of a reply is of no use where another one was fetched meanwhile: the page asks
// for the latest.
let asked = 0;
document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const place = /^<div hx-swap-oob="\w+:#(tail-[\w-]+)"/.exec(event.detail.message)?.[1];
  if (!place || document.getElementById(place)) return;
  event.preventDefault();
  if (Date.now() - asked > 1000) { asked = Date.now(); htmx.trigger(document.body, "converge"); }
});
// A reply that arrives over the socket needs no asking for; one that has fallen silent does.
let heard = 0;
document.addEventListener("htmx:wsAfterMessage", () => {
  heard = Date.now();
  const title = `${one(".head h1").textContent} · chatsite`;
  if (document.title !== title) document.title = title;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches(".message[aria-busy]") && Date.now() - heard < 5000) event.preventDefault();
});
document.addEventListener("htmx:oobErrorNoTarget", (event) => {
  if (event.detail.content.matches(".message, .call")) htmx.trigger(document.body, "converge");
});
for (const [name, offline] of [["htmx:wsOpen", false], ["htmx:wsClose", true]]) {
  document.addEventListener(name, () => one(".app").classList.toggle("offline", offline));
}

// Signed out, here or elsewhere: the site says where this page goes now.
document.addEventListener("htmx:wsClose", ({ detail }) => { if (detail.event?.code === 4401) location.reload(); });

// --- What went wrong ---------------------------------------------------------------------------------------------

// A dialog covers the page, and what is said on it.
const alertPlace = () => one(panel.open ? "#panel-alert" : "#alert");
const complain = (words) => {
  const line = document.createElement("p"), button = document.createElement("button");
  button.type = "button";
  button.className = "link";
  button.textContent = "Dismiss";
  button.dataset.dismiss = "";
  line.append(words, button);
  alertPlace().replaceChildren(line);
};
// What a person asked for, and not what the page reads again by itself.
const isAct = ({ detail: { requestConfig } }) => requestConfig.verb === "post" || ["click", "toggle"].includes(requestConfig.triggeringEvent?.type);
document.addEventListener("htmx:sendError", (event) => { if (isAct(event)) complain("The server cannot be reached. Nothing is lost: try again in a moment."); });
document.addEventListener("htmx:responseError", (event) => {
  // A site that is busy is asked again for what the page reads by itself.
  const { elt, xhr } = event.detail, wait = Number(xhr.getResponseHeader("Retry-After"));
  if (xhr.status === 503 && elt === thread) setTimeout(() => htmx.trigger(document.body, "converge"), 1000 * wait * (1 + Math.random()));
  // What is read again by itself is there as long as its conversation is.
  if (xhr.status === 404 && !isAct(event) && !xhr.getResponseHeader("HX-Retarget")) { one("#compression-status")?.replaceChildren(); complain("This conversation is not there any more."); }
  if (isAct(event) && !event.detail.xhr.getResponseHeader("HX-Retarget")) complain(`The server answered with an error (${event.detail.xhr.status}). Nothing is lost: load the page again, then try once more.`);
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr, successful } = event.detail;
  if (successful && isAct(event)) for (const place of document.querySelectorAll(".alert")) place.replaceChildren();
  if ("once" in elt.dataset && xhr.status && xhr.status < 400) elt.dataset.once = "done";
});
document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, xhr } = event.detail, { onload } = xhr;
  if (elt.dataset.once === "done") event.preventDefault();
  // A control may be gone when its answer comes: it is put back for as long as that is read. What the answer was meant
  // for may have been read again meanwhile: it goes where that is now.
  if (isAct(event)) xhr.onload = () => {
    const gone = !elt.isConnected, { detail } = event;
    if (gone) { elt.hidden = true; document.body.append(elt); }
    if (!detail.target.isConnected) detail.target = document.getElementById(detail.target.id) ?? detail.target;
    onload();
    if (gone) elt.remove();
  };
});
addEventListener("pageshow", () => { for (const elt of document.querySelectorAll("[data-once]")) elt.dataset.once = ""; });
// What opened the panel has the focus again; where that was in a menu, which is closed by now, what opens the menu.
let opener = null;
panel.addEventListener("close", () => {
  for (const part of panel.children) part.replaceChildren();
  if (document.activeElement === document.body) opener?.focus();
});
