// The parts of the page that several modules use, and the values that the browser stores for it. Listens to nothing.

export const find = (selector, root = document) => root.querySelector(selector);
export const thread = find("#thread"), scroller = find("#scroller"), composer = find("#composer"), panel = find("#panel");

export const copyTemplate = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

// Storage may be full, or forbidden: the page works without. `place` is sessionStorage for the values of one tab.
export const readStored = (key, place = "localStorage") => {
  try { return JSON.parse(window[place].getItem(key)); } catch { return null; }
};
// Returns whether the browser has stored the value; an empty value removes the key.
export const store = (key, value, place = "localStorage") => {
  try {
    if (value) window[place].setItem(key, JSON.stringify(value));
    else window[place].removeItem(key);
    return true;
  } catch { return false; }
};
