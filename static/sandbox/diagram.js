// Draws a Mermaid diagram in a frame without an origin: the code of a model can reach neither the page nor the site.
// Listens to message: {code, dark} from the page. It answers with {height}, or with {error}.
const draw = async ({ code, dark }) => {
  const place = document.querySelector("#diagram");
  const { mermaid } = globalThis;
  document.documentElement.style.colorScheme = dark ? "dark" : "light"; // the page's own choice, not the system's
  mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "neutral", maxTextSize: 50_000 });
  try {
    const { svg } = await mermaid.render("drawn", code);
    place.innerHTML = svg;
    parent.postMessage({ height: Math.ceil(document.documentElement.scrollHeight) }, "*");
  } catch (fault) {
    parent.postMessage({ error: String(fault?.message ?? fault).slice(0, 300) }, "*");
  }
};

addEventListener("message", ({ source, data }) => { if (source === parent && typeof data?.code === "string") draw(data); });
