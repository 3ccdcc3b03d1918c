// What htmx does not do by itself: drafts, one bubble a message, scrolling, and saying what went wrong.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const thread = one("#thread"), scroller = one("#scroller"), composer = one("#composer");

if (!navigator.clipboard) document.documentElement.classList.add("no-clipboard");

// --- The thread: one bubble a message, and the end in sight if it was ---------------------------------------------

let stuck = true;
const follow = () => { if (stuck && scroller) scroller.scrollTop = scroller.scrollHeight; };

if (thread && scroller) {
  scroller.addEventListener("scroll", () => { stuck = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60; }, { passive: true });
  new MutationObserver(follow).observe(thread, { childList: true, subtree: true, characterData: true });
  new ResizeObserver(follow).observe(scroller);
  follow();
}

// A question and its reply come twice, as the answer to the form and over the socket: the first to arrive stays.
const dropKnown = (fragment) => {
  for (const bubble of fragment.querySelectorAll("[data-message-id]")) if (document.getElementById(bubble.id)) bubble.remove();
};
// A message that is being written anew stays as it is when the thread around it is read again.
const keepEdited = (fragment) => {
  const focused = document.activeElement;
  for (const form of thread.querySelectorAll("form.edit")) {
    const message = form.closest(".message");
    one(`#${message.id}`, fragment)?.replaceWith(message);
    if (form.contains(focused)) setTimeout(() => focused.focus());
  }
};
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target !== thread) return;
  if (one("#version", fragment)) keepEdited(fragment);
  else dropKnown(fragment);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = event;
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

// A reply that arrives over the socket needs no asking for; one that has fallen silent does.
let heard = 0;
document.addEventListener("htmx:wsAfterMessage", () => {
  heard = Date.now();
  document.title = `${one(".head h1").textContent} · chatsite`;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches(".message[aria-busy]") && Date.now() - heard < 5000) event.preventDefault();
});
document.addEventListener("htmx:oobErrorNoTarget", (event) => {
  if (event.detail.content.matches(".message")) htmx.trigger(document.body, "converge");
});
for (const [name, offline] of [["htmx:wsOpen", false], ["htmx:wsClose", true]]) {
  document.addEventListener(name, () => one(".app").classList.toggle("offline", offline));
}

// --- The composer ---------------------------------------------------------------------------------------------

// Storage may be full, or forbidden: the page works without.
const kept = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
const keep = (key, value) => { try { value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key); } catch { /* see above */ } };

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
    one("#alert").replaceChildren();
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

// --- What went wrong ---------------------------------------------------------------------------------------------

const complain = (words) => {
  const place = one("#alert"), line = document.createElement("p"), button = document.createElement("button");
  button.type = "button";
  button.className = "link";
  button.textContent = "Dismiss";
  button.dataset.dismiss = "";
  line.append(words, button);
  place?.replaceChildren(line);
};
const isAct = (event) => event.detail.requestConfig?.verb === "post";
document.addEventListener("htmx:sendError", (event) => { if (isAct(event)) complain("The server cannot be reached. Nothing is lost: try again in a moment."); });
document.addEventListener("htmx:responseError", (event) => {
  // What is read again by itself is there as long as its conversation is.
  if (event.detail.xhr.status === 404 && !isAct(event)) { one("#compression-status")?.replaceChildren(); complain("This conversation is not there any more."); }
  if (isAct(event) && !event.detail.xhr.getResponseHeader("HX-Retarget")) complain(`The server answered with an error (${event.detail.xhr.status}). Nothing is lost: load the page again, then try once more.`);
});

// --- Small things -------------------------------------------------------------------------------------------------

const list = (open) => {
  one(".app").classList.toggle("listing", open);
  one("#veil").hidden = !open;
  one("#drawer").setAttribute("aria-expanded", open);
  (open ? one(".side a") : one("#drawer")).focus();
};
const copy = async (button, source) => {
  await navigator.clipboard.writeText(source.innerText.trim());
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "drawer") list(true);
  else if (button.id === "veil") list(false);
  else if ("dismiss" in button.dataset) button.parentElement.remove();
  else if ("hides" in button.dataset) document.getElementById(button.dataset.hides).hidden = true;
  else if (button.matches(".copy")) copy(button, one(".text", button.closest(".message")));
  else if (button.matches(".code-head button")) copy(button, one("pre", button.closest(".code")));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && one(".app.listing")) list(false);
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("textarea[data-enter]")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  const { target } = event.detail;
  if (target.id !== "reader") return;
  if (!target.open) target.showModal();
  target.scrollTop = 0;
});
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form[data-closes]");
  if (form && event.detail.successful) form.closest("[popover]").hidePopover();
});
