// The Context panel beside the chat: it opens with its tabs, closes, and its figures and rules follow the meter.
// Listens to click, keydown, htmx:beforeRequest, htmx:beforeSwap and htmx:oobAfterSwap.
import { find } from "./page.js";
import { writeOn } from "./place.js";

const dock = find("#dock"), opener = find("#to-dock");
let isStale = false; // whether rules were changed here since they were asked for
const isSheet = () => getComputedStyle(dock).position === "fixed";

export const open = () => {
  dock.hidden = false;
  opener.setAttribute("aria-expanded", true);
  (find("[autofocus]", dock) ?? find("#dock-title")).focus({ preventScroll: true });
};
const close = () => {
  document.activeElement.blur(); // a field that was changed is kept first
  dock.hidden = true;
  opener.setAttribute("aria-expanded", false);
  if (isSheet()) opener.focus(); else writeOn();
};
const show = (tab) => {
  for (const each of dock.querySelectorAll("[role=tab]")) {
    const isShown = each === tab;
    each.setAttribute("aria-selected", isShown);
    each.tabIndex = isShown ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).classList.toggle("shown", isShown);
  }
  dock.scrollTop = 0;
  tab.focus({ preventScroll: true });
};

dock.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.id === "undock") close();
  else if (button?.role === "tab") show(button);
});
const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
dock.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Escape" && !event.defaultPrevented) close();
  if (target.role !== "tab" || !(key in STEPS)) return;
  event.preventDefault();
  const tabs = [...dock.querySelectorAll("[role=tab]")], at = tabs.indexOf(target) + STEPS[key];
  show(Number.isFinite(at) ? tabs[(at + tabs.length) % tabs.length] : tabs.at(at > 0 ? -1 : 0));
});
// The control that opens the panel closes it too.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.id === "rules-follow") isStale = false;
  if (event.detail.elt.closest("#rules-section")) isStale = true;
  if (event.detail.elt !== opener || dock.hidden) return;
  event.preventDefault();
  close();
});
// A rule that is being typed, or that is on its way, stays as it is.
const isTyping = () => {
  const rules = find("#rules-section");
  return rules?.contains(document.activeElement) || Boolean(rules && find(".htmx-request", rules));
};
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.elt.id === "rules-follow" && (isStale || isTyping())) detail.shouldSwap = false;
});
document.addEventListener("htmx:oobAfterSwap", ({ detail }) => {
  if (detail.target.id !== "context-meter" || dock.hidden) return;
  const memory = find("#memory"), rules = find("#rules-section");
  if (memory?.checkVisibility()) htmx.trigger(memory, "metered");
  if (rules && !isTyping()) htmx.trigger(find("#rules-follow"), "metered");
});
