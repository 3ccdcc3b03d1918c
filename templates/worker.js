{% load static %}// Shows a page that says so where the site cannot be reached. Nothing of a conversation is kept in the browser.
const CACHE = "offline-1", PAGE = "{% url 'offline' %}";
const KEPT = [PAGE, "{% static 'chat.css' %}", "{% static 'favicon.svg' %}"];

addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(KEPT)).then(() => skipWaiting()));
});
addEventListener("activate", (event) => {
  const others = (names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(others).then(() => clients.claim()));
});
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => caches.match(PAGE)));
  else if (request.method === "GET" && KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
