// The page of a run: it takes what the program sends and hands it to the page in view.
import { sprite } from "./board.js";
import { saved } from "./dom.js";
import { overview } from "./overview.js";
import { games } from "./games.js";
import { search } from "./search.js";
import { learning } from "./learning.js";
import { processes } from "./processes.js";
import { compare } from "./compare.js";

const pages = { overview, games, search, learning, processes, compare };
const main = document.getElementById("main");
const connection = document.getElementById("connection");
const seen = { status: null, games: null }; // the newest of each event
let shown = null; // the page in view: {leave(), status(s), games(g)}

// show opens the page that the address names: #page or #page/argument.
function show() {
  const [name, ...rest] = decodeURIComponent(location.hash.slice(1)).split("/");
  const page = pages[name] ? name : "overview";
  shown?.leave?.();
  main.replaceChildren();
  for (const a of document.querySelectorAll("nav a")) {
    if (a.getAttribute("href") === `#${page}`) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  shown = pages[page](main, rest.join("/"));
  for (const [kind, value] of Object.entries(seen)) if (value) shown[kind]?.(value);
}

function said(state, text) {
  connection.className = state;
  connection.textContent = text;
}

// listen follows the program; of a saved page it shows what was known then.
function listen() {
  if (saved) {
    seen.status = saved["/api/status"];
    seen.games = [];
    said("", `saved ${new Date(seen.status.now).toLocaleString()}`);
    for (const live of ["search", "compare"]) document.querySelector(`nav a[href="#${live}"]`).remove();
    show();
    return;
  }
  const events = new EventSource("/api/live");
  for (const kind of Object.keys(seen)) {
    events.addEventListener(kind, (e) => {
      seen[kind] = JSON.parse(e.data);
      if (kind === "status") said("live", (seen.status.processes ?? []).length ? "at work" : "not running");
      shown?.[kind]?.(seen[kind]);
    });
  }
  events.addEventListener("trouble", (e) => said("lost", JSON.parse(e.data)));
  events.onerror = () => said("lost", "no connection: the program has ended, or is out of reach");
}

sprite();
addEventListener("hashchange", () => { show(); main.focus(); });
show();
listen();
