// The requests of htmx and their answers: which are sent, where an answer goes, and the words for a request that failed.
// Listens to htmx:beforeRequest, beforeSwap, afterRequest, sendError and responseError, and to pageshow.
import { find, gettext, panel, thread } from "./page.js";

// A dialog covers the page, and the Context panel may, with the alerts on it.
const alertPlace = () => {
  if (panel.open) return find("#panel-alert");
  return find("#dock")?.contains(document.activeElement) ? find("#dock-alert") : find("#alert");
};
export const complain = (words) => {
  const line = document.createElement("p"), button = document.createElement("button");
  button.type = "button";
  button.className = "link";
  button.textContent = gettext("Dismiss");
  button.dataset.dismiss = "";
  line.append(words, button);
  alertPlace().replaceChildren(line);
};

// An act of a person, unlike the parts that the page reads again by itself, as the list of chats is.
const isAct = ({ detail: { elt, requestConfig } }) => (
  elt.id !== "conversations" && (requestConfig.verb === "post" || ["click", "toggle", "beforetoggle"].includes(requestConfig.triggeringEvent?.type))
);
// Only a refusal that the site itself has put into words names its place; any other is a page of its own.
const isInWords = (xhr) => Boolean(xhr.getResponseHeader("HX-Retarget"));

document.addEventListener("htmx:beforeRequest", (event) => {
  const { elt, xhr } = event.detail, { onload } = xhr;
  if (elt.dataset.once === "done") event.preventDefault();
  // A control may be gone when its answer comes: it is put back until the answer is read. The place that the answer was
  // meant for may have been read again meanwhile: the answer goes where that place is now. A part that asks by itself
  // and is gone has been replaced by a newer one, which asks for itself: the older answer is not read.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it runs in the place of htmx's own, and calls that
  xhr.onload = () => {
    if (!isAct(event)) { if (elt.isConnected) onload(); return; }
    const isGone = !elt.isConnected, { detail } = event;
    if (isGone) { elt.hidden = true; document.body.append(elt); }
    if (!detail.target.isConnected) detail.target = document.getElementById(detail.target.id) ?? detail.target;
    onload();
    if (isGone) elt.remove();
  };
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id === "alert") detail.target = alertPlace();
  if (detail.xhr.status >= 400) detail.shouldSwap = isInWords(detail.xhr);
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr, successful } = event.detail;
  if (successful && isAct(event)) for (const place of document.querySelectorAll(".alert")) place.replaceChildren();
  if ("once" in elt.dataset && xhr.status && xhr.status < 400) elt.dataset.once = "done";
});
addEventListener("pageshow", () => { for (const elt of document.querySelectorAll("[data-once]")) elt.dataset.once = ""; });

document.addEventListener("htmx:sendError", (event) => {
  if (isAct(event)) complain(gettext("The server cannot be reached. Nothing is lost: try again in a moment."));
});
document.addEventListener("htmx:responseError", (event) => {
  const { elt, xhr } = event.detail, wait = Number(xhr.getResponseHeader("Retry-After"));
  // A busy site is asked again for the parts that the page reads by itself.
  if (xhr.status === 503 && elt === thread) setTimeout(() => htmx.trigger(document.body, "converge"), 1000 * wait * (1 + Math.random()));
  if (isInWords(xhr)) return;
  if (isAct(event)) {
    complain(gettext("The server answered with an error (%(status)s). Nothing is lost: load the page again, then try once more.", { status: xhr.status }));
  } else if (xhr.status === 404) {
    // A part that the page reads by itself is there as long as its conversation is.
    find("#compression-status")?.replaceChildren();
    complain(gettext("This conversation is not there any more."));
  }
});
