// What a page shows of texts that it should not: the values are empty where every text is only text.
() => {
  const texts = [...document.querySelectorAll(".prose, .text.plain, .tool b, .tool .brief, .tool pre, .tool code, .tool .failure, .speaker, h1, .entry > a, .past summary, .steps span, .facts li")];
  const inside = texts.flatMap((place) => [...place.querySelectorAll("*")]);
  const barred = "script, style, iframe, object, embed, link, meta, base, video, audio, img, template, portal, svg, form, input";
  const acting = /^(on|hx-|data-hx|style$|id$|name$|srcdoc$|action$)/;
  const scrollers = [document.documentElement, document.querySelector("#scroller"), document.querySelector("#reader")];
  return {
    ran: window.hacked ?? "",
    computed: document.body.innerText.includes("1337") ? "a template" : "",
    clobbered: ["getElementById", "querySelector"].filter((name) => typeof document[name] !== "function"),
    elements: inside.filter((element) => element.matches(barred)).map((element) => element.outerHTML.slice(0, 100)),
    attributes: inside.flatMap((element) => [...element.attributes]).map(({ name }) => name).filter((name) => acting.test(name)),
    links: inside.filter((element) => element.href && !/^(https?|mailto):/.test(element.href)).map((element) => element.href),
    wide: scrollers.filter((place) => place && place.scrollWidth > place.clientWidth + 1).map((place) => place.id),
  };
}
