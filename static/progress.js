// Seconds that go on between two words of the server: each count begins at the last one that it said.
"use strict";

const counts = new WeakMap();
const inWords = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`);
setInterval(() => {
  for (const place of document.querySelectorAll("[data-elapsed]")) {
    const said = Number(place.dataset.elapsed);
    if (counts.get(place)?.said !== said) counts.set(place, { said, at: performance.now() });
    place.textContent = inWords(said + Math.floor((performance.now() - counts.get(place).at) / 1000));
  }
}, 500);
