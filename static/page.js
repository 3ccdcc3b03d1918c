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

// The page's texts in its language: `static/` has them in English, `/words` has a catalog for each other language. %(name)s
// stands for a value. `language` is the browser's form of the page's language, as in de-AT.
const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
export const gettext = (text, values) => filled(window.gettext?.(text) ?? text, values ?? {});
export const ngettext = (one, several, number, values) => filled(
  window.ngettext?.(one, several, number) ?? (number === 1 ? one : several), { number: amount(number), ...values },
);
const { lang } = document.documentElement;
export const language = navigator.languages.find((own) => own.split("-")[0] === lang.split("-")[0]) ?? (lang || "en");
export const amount = (number) => number.toLocaleString(language);
