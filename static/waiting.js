// How long a reply has been waited for that has no words yet: reasoning models are silent for minutes.
"use strict";

const UNEXPLAINED = 2; // seconds of silence
const askedFor = new WeakMap(); // by the bubble, when it was asked for, on this page's clock

const askedForAt = (bubble) => {
  if (!askedFor.has(bubble)) askedFor.set(bubble, performance.now() - 1000 * (Number(bubble.dataset.waited) || 0));
  return askedFor.get(bubble);
};
const minutesOf = (seconds) => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
};
// What is said by the site stays; where it says nothing, and does nothing else before, it is the model that is waited for.
const tellSilence = (bubble) => {
  const place = one(":scope > .waits", bubble), seconds = Math.floor((performance.now() - askedForAt(bubble)) / 1000);
  if (!place || one(":scope > .growing", bubble)?.textContent.trim() || seconds < UNEXPLAINED) return;
  const model = one("#pills")?.dataset.model;
  if (!place.textContent && (!model || one("[data-busy]"))) return;
  if (!place.textContent) place.append(`Waiting for ${model}`);
  let shown = one(":scope > .elapsed", place);
  if (!shown) {
    shown = document.createElement("span");
    shown.className = "elapsed";
    shown.setAttribute("role", "timer"); // which screen readers do not announce by themselves
    place.append(shown);
  }
  shown.textContent = minutesOf(seconds);
};
if (thread) {
  const tellAll = () => thread.querySelectorAll(".message[aria-busy]").forEach(tellSilence);
  setInterval(tellAll, 500);
  // A bubble that was fetched anew says so from the start.
  for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(name, tellAll);
}
