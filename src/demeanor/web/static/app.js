// Keys, copy buttons, folding and live updates. Every page can be read without this file.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  root.classList.add("js");

  const KEYS = [
    ["j / k", "next / previous step or row"],
    ["Enter", "unfold the step, or open the row"],
    [". ", "to the step where the trials diverge"],
    ["[ / ]", "previous / next trial"],
    ["n", "next trial that did not pass"],
    ["/", "search"],
    ["?", "this list"],
  ];

  // Steps of a trial, or rows of a list: the chosen one has the class `at`.
  const rows = () => all(".steps tbody tr:not([hidden]), .list tbody tr, .heat tbody tr:not(.total)");
  const choose = (row) => {
    all(".at").forEach((other) => other.classList.remove("at"));
    row.classList.add("at");
    row.scrollIntoView({ block: "nearest" });
    const inside = row.querySelector("summary, a");
    if (inside) inside.focus({ preventScroll: true });
  };
  const move = (by) => {
    const found = rows();
    if (!found.length) return;
    const now = found.findIndex((row) => row.classList.contains("at"));
    const next = now < 0 ? (by > 0 ? 0 : found.length - 1) : now + by;
    choose(found[Math.max(0, Math.min(found.length - 1, next))]);
  };

  const diverge = () => {
    const row = one(".divergence");
    if (!row) return;
    choose(row);
    all("details", row).forEach((part) => (part.open = true));
    row.scrollIntoView({ block: "center" });
  };

  const follow = (key) => {
    const link = all("a[data-key]").find((found) => found.dataset.key === key);
    if (link) location.assign(link.href);
  };

  const help = () => {
    let box = one("dialog");
    if (!box) {
      box = document.createElement("dialog");
      box.setAttribute("aria-label", "Keys");
      const table = document.createElement("table");
      for (const [key, text] of KEYS) {
        const row = table.insertRow();
        const name = document.createElement("kbd");
        name.textContent = key;
        row.insertCell().append(name);
        row.insertCell().textContent = text;
      }
      const close = document.createElement("button");
      close.textContent = "Close";
      close.addEventListener("click", () => box.close());
      box.append(table, close);
      document.body.append(box);
    }
    box.open ? box.close() : box.showModal();
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape" && typing) return event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      j: () => move(1),
      k: () => move(-1),
      ".": diverge,
      "[": () => follow("["),
      "]": () => follow("]"),
      n: () => follow("n"),
      "/": () => (one("main [data-search]") || one(".find input"))?.focus(),
      "?": help,
    };
    const act = actions[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  const copied = (button, text) => {
    const before = button.textContent;
    button.textContent = text;
    setTimeout(() => (button.textContent = before), 1500);
  };

  const shown = () => {
    const off = all("button[data-kind][aria-pressed=false]").map((button) => button.dataset.kind);
    const text = one("[data-within]")?.value.trim().toLowerCase() || "";
    const has = (part) => part.textContent.toLowerCase().includes(text);
    for (const row of all(".steps tbody tr")) {
      const kinds = all(".step", row).map((step) => step.dataset.kind);
      row.hidden = kinds.length > 0 && kinds.every((kind) => off.includes(kind));
      if (!text) continue;
      row.hidden ||= !has(row);
      all("details", row).forEach((part) => (part.open = has(part)));
    }
  };

  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-within]")) shown();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy !== undefined) {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        copied(button, "Copied");
      } catch {
        copied(button, "Not allowed: select the text");
      }
    } else if (button.dataset.fold) {
      const open = !one(".steps details[open]");
      all(".steps details").forEach((part) => (part.open = open));
      button.textContent = open ? "Fold all" : "Unfold all";
    } else if (button.dataset.kind) {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      shown();
    }
  });

  // Live: the server tells when the store changes; then the content of this page is fetched again.
  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) return void (again = true);
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const typing = document.activeElement?.closest("main input, main select, main textarea, main form");
        const open = all("main details").map((part) => part.open);
        if (!typing) {
          one("main").replaceWith(page.querySelector("main"));
          all("main details").forEach((part, index) => (part.open = open[index] ?? part.open));
          document.title = page.title;
        }
      }
    } catch {
      // The server is gone; the next event comes when it is back.
    }
    busy = false;
    if (again) {
      again = false;
      setTimeout(refresh, 500);
    }
  };
  // Steps of running trials are not part of the store's state.
  if (location.pathname === "/live") setInterval(() => one("main progress") && !document.hidden && refresh(), 2000);
  if (one("[data-live]")) {
    let known = null;
    const events = new EventSource("/events");
    events.onmessage = (event) => {
      if (known !== null && known !== event.data) refresh();
      known = event.data;
      root.dataset.connected = "true";
    };
  }
})();
