// How long a reply has been waited for that has no words yet: reasoning models are silent for minutes.
"use strict";

const QUIET = 2; // seconds that need no explanation
const asked = new WeakMap(); // by the bubble, when it was asked for, on this page's clock

const askedAt = (bubble) => {
  if (!asked.has(bubble)) asked.set(bubble, performance.now() - 1000 * (Number(bubble.dataset.waited) || 0));
  return asked.get(bubble);
};
const clock = (seconds) => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
};
// What is said by the site stays; where it says nothing, and does nothing else before, it is the model that is waited for.
const tell = (bubble) => {
  const place = one(":scope > .waits", bubble), seconds = Math.floor((performance.now() - askedAt(bubble)) / 1000);
  if (!place || one(":scope > .growing", bubble)?.textContent.trim() || seconds < QUIET) return;
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
  shown.textContent = clock(seconds);
};
if (thread) setInterval(() => thread.querySelectorAll(".message[aria-busy]").forEach(tell), 500);
