// Where a reader is: the place in the thread, the keyboard's focus and an open menu outlast the swaps of htmx.
// Listens to the scrolling of the thread, to changes of it, and to each swap, before and after.
import { composer, find, scroller, thread } from "./page.js";

// --- The end of the thread stays in sight if it was --------------------------------------------------------------------

let isFollowing = !location.hash;
// The thread shows a frame only where a person's own key has brought the focus there.
const focusThread = () => {
  if (!scroller) return;
  scroller.dataset.quiet = "";
  scroller.addEventListener("blur", () => { delete scroller.dataset.quiet; }, { once: true });
  scroller.focus({ preventScroll: true });
};
const scrollToEnd = () => {
  if (!isFollowing || !scroller) return;
  const box = find("code.streaming", thread)?.parentElement;
  if (box) box.scrollTop = box.scrollHeight;
  scroller.scrollTop = scroller.scrollHeight;
};
export const followEnd = () => { isFollowing = true; scrollToEnd(); };
export const stopFollowing = () => { isFollowing = false; };

if (thread && scroller) {
  const latest = find("#latest");
  scroller.addEventListener("scroll", () => {
    const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    isFollowing = below < 60;
    if (latest) latest.hidden = below < scroller.clientHeight;
  }, { passive: true });
  latest?.addEventListener("click", () => { focusThread(); followEnd(); });
  new MutationObserver(scrollToEnd).observe(thread, { childList: true, subtree: true, characterData: true });
  new ResizeObserver(scrollToEnd).observe(scroller);
  scrollToEnd();
}

// --- The message at the top of the visible part stays there --------------------------------------------------------------

// A message that begins above the visible part and changes its height stays where it was being read.
let topmost = null;
export const rememberPlace = () => {
  const top = scroller.getBoundingClientRect().top;
  const message = [...thread.querySelectorAll(".message")].find((each) => each.getBoundingClientRect().bottom > top);
  const { top: at, height } = message?.getBoundingClientRect() ?? {};
  topmost = message && !isFollowing ? { id: message.id, at, read: Math.max(0, top - at) / height, height } : null;
};
const restorePlace = () => {
  const message = topmost && document.getElementById(topmost.id);
  if (message) {
    const { top, height } = message.getBoundingClientRect();
    scroller.scrollTop += top - topmost.at + topmost.read * (height - topmost.height);
  }
  topmost = null;
};

// --- Focus: a control that a swap takes away hands it on: to itself come back, to a neighbour, or to its heading, else to
// the thread that it was in, else to the box ------------------------------------------------------------------------------

// The box, or the field that keeps keystrokes while the box is disabled. A phone's keyboard comes only when it is asked for.
export const writeOn = () => {
  const box = composer?.elements.content, field = box?.disabled ? find("#meanwhile") : box;
  if (!field || !matchMedia("(hover: hover)").matches) focusThread();
  else field.focus({ preventScroll: true });
};

let heirs = [], rememberedAt = 0, wasInThread = false;
const rememberFocus = () => {
  const at = document.activeElement;
  // Where one swap has just taken the control away, the next one may bring its heir.
  if (at === document.body) { if (Date.now() - rememberedAt > 1000) heirs = []; return; }
  rememberedAt = Date.now();
  wasInThread = Boolean(thread?.contains(at));
  heirs = [
    at.id, at.closest("[data-focus]")?.dataset.focus, at.closest("section")?.getAttribute("aria-labelledby"),
    at.closest("dialog") && "reader-title", at.closest("#dock") && "dock-title",
  ];
};
export const restoreFocus = () => {
  if (document.activeElement !== document.body) return;
  if (!heirs.length) return;
  const heir = heirs.map((id) => id && document.getElementById(id)).find((each) => each && each.checkVisibility() && !each.disabled);
  if (heir) heir.focus({ preventScroll: true });
  else if (wasInThread) focusThread();
  else writeOn();
};

// --- The open menu of a message: it opens again on the new version of the message, and is read anew -------------------------

let openMenu = null;
const rememberMenu = () => { openMenu = thread && find(".menu:popover-open", thread); };
const restoreMenu = () => {
  const menu = openMenu?.isConnected === false ? document.getElementById(openMenu.id) : null;
  openMenu = null;
  menu?.showPopover({ source: find(`[popovertarget="${menu.id}"]`, thread) });
};

for (const name of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) {
  document.addEventListener(name, () => { rememberFocus(); rememberMenu(); });
}
document.addEventListener("htmx:oobAfterSwap", () => { restoreFocus(); restoreMenu(); restorePlace(); });
document.addEventListener("htmx:afterSwap", () => { restoreMenu(); restorePlace(); });
document.addEventListener("htmx:afterSettle", restoreFocus);
